#!/bin/sh
# Loads what the kernel does not have built in, unpacks what was handed in on the second disk, and runs it.
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
for module in /machine/modules/$(uname -r)/*.ko; do
  busybox insmod $module
done
# Whatever happens, no machine lives longer than it was given.
limit=$(sed -n 's/.*machine.limit=\([0-9]*\).*/\1/p' /proc/cmdline)
(
  busybox sleep ${limit:-600}
  echo "machine: its time is over" > /dev/console
  busybox poweroff -f
) &
mkdir -p /in
mount -t tmpfs tmpfs /in
tar xf /dev/vda -C /in
sh /in/run.sh
echo "@@RC $?"
