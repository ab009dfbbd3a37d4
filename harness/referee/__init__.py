"""The trusted side, a module per step of an evaluation: build → inputs → correctness → timing → audit → evaluation."""
