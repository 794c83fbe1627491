#!/bin/sh
# Runs a command in a cpuset cgroup that is the root for it, as a container of LXD is on cgroup version 1: sysfs shows all CPUs of the machine.
#
#   sh own-cgroups.sh CGROUP COMMAND [ARG...]
#
# CGROUP is a folder in the hierarchy of cpusets; who makes it gives it CPUs, and removes it when the command has ended.
set -eu
echo $$ > "$1/cgroup.procs"
shift
exec unshare --cgroup --mount --propagation private sh -c '
  umount /sys/fs/cgroup/cpuset
  mount -t cgroup -o cpuset cgroup /sys/fs/cgroup/cpuset
  exec "$@"' sh "$@"
