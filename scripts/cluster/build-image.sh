#!/bin/sh
# Builds the last stage of a Dockerfile with buildah, without a registry, and saves it as an OCI archive.
#
#   unshare --mount --propagation private sh build-image.sh TOOLS BASE CONTEXT WORK NAME
#
# TOOLS is a root of Debian that has buildah, BASE the content of the image that the last stage begins with, CONTEXT the folder of the
# Dockerfile and, in `build`, of what it copies from its first stage. The archive is WORK/image.tar; NAME is the image's name. Storage is
# below WORK.
set -eu
tools=$1 base=$2 context=$3 work=$4 name=$5
from=$(sed -n 's/^FROM \([^ ]*\)$/\1/p' "$context/Dockerfile")

root=$work/root
mkdir "$root"
mount --bind "$tools" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
for dir in mnt run tmp var/tmp; do
  mount -t tmpfs tmpfs "$root/$dir"
done
mkdir "$root/run/lock" "$root/mnt/base" "$root/mnt/context" "$root/mnt/work"
mount --bind "$base" "$root/mnt/base"
mount --bind "$context" "$root/mnt/context"
mount --bind "$work" "$root/mnt/work"
# Images come from here only; nothing is there to verify.
echo '{"default":[{"type":"insecureAcceptAnything"}]}' > "$work/policy.json"

export HOME=/mnt/work TMPDIR=/mnt/work
run() {
  command=$1
  shift
  chroot "$root" buildah --root /mnt/work/storage --runroot /mnt/work/run --storage-driver vfs "$command" "$@"
}
container=$(run from scratch)
run copy -q "$container" /mnt/base /
run commit -q --rm --disable-compression "$container" localhost/base:1
run build -q --isolation chroot --signature-policy /mnt/work/policy.json --build-context build=/mnt/context/build \
  --build-context "$from=container-image://localhost/base:1" --tag "$name" /mnt/context
run push -q --disable-compression --signature-policy /mnt/work/policy.json "$name" "oci-archive:/mnt/work/image.tar:$name"
