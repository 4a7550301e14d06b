"""The suite under pytest. `plugin` is loaded by every pytest run on the machine: keep imports light."""
