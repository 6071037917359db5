//! Quantities as people write them: `"20 ms"`, `"10 Mbit/s"`, `"64 kB"`, `"0.1 %"`.
