#!/bin/sh
# Makes the mounts of one private runtime and then holds their namespace open until standard input closes.
#
#   unshare --mount --propagation private sh enter.sh ROOT WORK
#
# ROOT is a finished root folder (debian-root.mjs), which stays as it is: it is mounted read-only. WORK is this runtime's
# own folder; what the host has to reach (sockets, pod logs) is bound from there. Everything else that the runtime
# writes goes to memory and is gone with the namespace.
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
mount --bind "$work/pods" "$new/var/log/pods"
for dir in tmp opt var/lib/containerd var/lib/containers var/tmp; do
  mount -t tmpfs tmpfs "$new/$dir"
done

cd "$new"
pivot_root . old-root
umount -l /old-root
echo entered
exec cat > /dev/null
