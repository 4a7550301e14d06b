"""Operations on a locked message: complete, abandon, renew (RCV)."""
