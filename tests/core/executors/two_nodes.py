"""A Ray cluster of two nodes with a core each, in a process of its own, for as long as it is read.

    python -m tests.core.executors.two_nodes

It writes the address, then obeys the lines that it reads: `kill` (the second node, with SIGKILL)
and `join` (another second node), and answers each with `done`. The end of its input ends it.
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster

# A node that is gone is found out in 3 s, not in 15.
HEALTH = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 1000}
HEALTH["health_check_failure_threshold"] = 3


def main() -> None:
    answers = sys.stdout
    sys.stdout = sys.stderr
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": HEALTH}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    node = cluster.add_node(num_cpus=1)
    try:
        answers.write(f"{cluster.address}\n")
        answers.flush()
        for line in sys.stdin:
            if line.strip() == "kill":
                cluster.remove_node(node, allow_graceful=False)
            else:
                node = cluster.add_node(num_cpus=1)
            answers.write("done\n")
            answers.flush()
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
