import { readBounded } from '../../files/read-bounded';
import type { InterfaceCounters } from '../../qos/usage/sample';

/** Enough for thousands of interfaces. */
const MAX_BYTES = 1024 * 1024;

/**
 * The counters of the named interfaces of the node. Those that do not exist are left out. The network namespace is that
 * of process 1, which is the node's where cpusetd is in the node's PID namespace, and cpusetd's own where that can't be
 * read.
 */
export function readInterfaces(procRoot: string, names: readonly string[]): ReadonlyMap<string, InterfaceCounters> {
  const found = new Map<string, InterfaceCounters>();
  if (names.length === 0) return found;
  const ofNode = readBounded(`${procRoot}/1/net/dev`, MAX_BYTES);
  const read = ofNode.ok ? ofNode : readBounded(`${procRoot}/net/dev`, MAX_BYTES);
  for (const line of read.ok ? read.text.split('\n') : []) {
    const [, name = '', rest = ''] = /^\s*([^\s:]+):\s*([\d ]+)$/.exec(line) ?? [];
    if (!names.includes(name)) continue;
    // bytes packets errs drop fifo frame compressed multicast, and the same eight for what was sent
    const fields = rest.trim().split(/\s+/).map(Number);
    if (fields.length < 16) continue;
    found.set(name, {
      receivedBytes: fields[0]!,
      receivedPackets: fields[1]!,
      droppedIn: fields[3]!,
      sentBytes: fields[8]!,
      sentPackets: fields[9]!,
      droppedOut: fields[11]!,
    });
  }
  return found;
}
