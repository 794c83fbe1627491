#!/busybox sh
# First process of a kernel that has the drivers of the disk as modules: loads them, puts the other modules where run.sh looks for those of
# its kernel, and goes on to the first process of the disk.
export PATH=/
busybox mkdir -p /proc /dev /disk
busybox mount -t proc proc /proc
busybox mount -t devtmpfs devtmpfs /dev
for word in $(busybox cat /proc/cmdline); do
  case $word in root=* | init=*) export "$word" ;; esac
done
for module in /disk-*.ko; do
  busybox insmod $module || busybox poweroff -f
done
until [ -b $root ]; do busybox usleep 50000; done
busybox mount -t ext4 $root /disk || busybox poweroff -f
modules=/disk/machine/modules/$(busybox uname -r)
busybox mkdir -p $modules
for module in /later-*.ko; do
  busybox cp $module $modules/${module#/later-}
done
busybox umount /proc /dev
exec busybox switch_root /disk $init
