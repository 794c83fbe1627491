// A power failure of the machine, as far as a private runtime can see it.
import { spawnSync } from 'node:child_process';
import { endProcesses } from './leftovers.mjs';

/**
 * The script that makes mounts and files go that no boot finds: those of runtimes in /run, which is in memory, and
 * mounted volumes. The other folders in /run were put there by the tests.
 */
const script = `
set -eu
for dir in /run/containerd /run/containers /run/crio /run/netns /run/nri /run/runc /var/lib/kubelet/pods; do
  awk -v dir="$dir/" 'index($2, dir) == 1 { print $2 }' /proc/self/mounts | sort -r | while read -r point; do umount -l "$point"; done
done
rm -rf /run/containerd /run/containers /run/crio /run/netns /run/nri /run/runc`;

/**
 * Ends all processes of a runtime, and removes what does not outlast a boot. Records and images of the runtime are
 * kept.
 * @param {{ work: string, namespacePid: number }} runtime
 * @returns {Promise<void>}
 */
export async function powerOff({ work, namespacePid }) {
  await endProcesses(work);
  const command = [`--mount=/proc/${namespacePid}/ns/mnt`, '--', 'sh', '-c', script];
  const { status, stderr } = spawnSync('nsenter', command, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`what a boot does not find could not be removed: ${stderr.trim()}`);
}
