#!/bin/sh
# Runs a command in a new network namespace: the servers of a cluster listen there, and nothing outside can reach them.
#
#   sh own-network.sh COMMAND [ARG...]
#
# The loopback interface has these addresses besides its own: the API server's (10.99.0.1; nodes get the following ones) and that
# of the Service `kubernetes` (10.96.0.1), so that pods reach the API server without kube-proxy.
set -eu
exec unshare --net sh -c 'ip link set lo up && ip addr add 10.99.0.1/32 dev lo && ip addr add 10.96.0.1/32 dev lo && exec "$@"' sh "$@"
