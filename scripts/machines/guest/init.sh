#!/bin/sh
# First process of a machine without systemd: mounts, runs what was handed in, powers off. Nothing outlives the machine.
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
for dir in /dev/shm /run /tmp; do mount -t tmpfs tmpfs $dir; done

if grep -q machine.cgroup=v1 /proc/cmdline; then
  mount -t tmpfs tmpfs /sys/fs/cgroup
  for controller in cpuset cpu,cpuacct memory pids devices freezer blkio; do
    mkdir /sys/fs/cgroup/$controller
    mount -t cgroup -o $controller cgroup /sys/fs/cgroup/$controller
  done
  ln -s cpu,cpuacct /sys/fs/cgroup/cpu
  ln -s cpu,cpuacct /sys/fs/cgroup/cpuacct
else
  mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
  for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
    echo +$controller > /sys/fs/cgroup/cgroup.subtree_control
  done
fi
busybox ip link set lo up

sh /machine/run.sh
sync
mount -o remount,ro /
busybox poweroff -f
