"""What was delivered: contents, order, redelivery, settlement, losses."""
