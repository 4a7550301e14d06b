"""Messages to partitions: affinity of keys, splits of batches."""
