#!/bin/sh
# Makes the mounts of one private runtime and then holds their namespace open until standard input closes.
#
#   unshare --mount --propagation private sh enter.sh ROOT WORK
#
# ROOT is a finished root folder (debian-root.mjs), which stays as it is: it is mounted read-only. WORK is this runtime's
# own folder; what the host has to reach (sockets, pod logs, the kubelet's files) is bound from there. Everything else that the
# runtime and the kubelet write goes to memory and is gone with the namespace.
set -eu
root=$1
work=$2

new=$work/root
mount --bind "$root" "$new" # pivot_root, and runc later, want a root that is a mount point
mount -o remount,bind,ro "$new"
mount -t proc proc "$new/proc"
mount --rbind /dev "$new/dev"
mount --rbind /sys "$new/sys"
mount --bind "$work/run" "$new/run"
for dir in tmp opt var/lib var/log var/tmp etc/cni/net.d; do
  mount -t tmpfs tmpfs "$new/$dir"
done
# The CNI plugins of Debian are where an unmodified containerd looks for them.
mkdir "$new/opt/cni"
ln -s /usr/lib/cni "$new/opt/cni/bin"
mkdir "$new/var/lib/kubelet" "$new/var/log/pods"
mount --bind "$work/kubelet" "$new/var/lib/kubelet"
mount --bind "$work/pods" "$new/var/log/pods"

# CRI-O sets limits of each controller that the kernel lists, also where no hierarchy has it (cgroup v1).
if ! grep -q hugetlb /proc/mounts; then
  grep -v hugetlb /proc/cgroups > "$work/cgroups"
  mount --bind "$work/cgroups" "$new/proc/cgroups"
fi

cd "$new"
pivot_root . old-root
umount -l /old-root
echo entered
exec cat > /dev/null
