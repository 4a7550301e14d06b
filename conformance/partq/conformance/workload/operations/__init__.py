"""Operations as steps of programs: a record each. `table` has them all."""
