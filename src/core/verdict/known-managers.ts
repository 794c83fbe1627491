/**
 * Programs that write cpusets of containers, by the name that the kernel has for their process: its first 15 bytes. The
 * kubelet is not among them: it runs everywhere, and what tells of its CPU manager is its state file.
 */
export const KNOWN_MANAGERS: ReadonlyMap<string, string> = new Map([
  ['koordlet', 'Koordinator (koordlet)'],
  ['crane-agent', 'Crane (crane-agent)'],
  ['katalyst-agent', 'Katalyst (katalyst-agent)'],
  ['cri-resmgr', 'CRI Resource Manager (cri-resmgr)'],
  ['nri-resource-po', 'NRI resource policy (nri-resource-policy)'],
  ['dracpu', 'DRA driver for CPUs (dracpu)'],
]);
