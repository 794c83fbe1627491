import { lastCpu } from '../../e2e/rig/online-cpus';

/**
 * The only CPU that can be exclusive: nodes of the tests reserve all others, so that each machine has the same results.
 */
export const exclusiveCpu = String(lastCpu);
/** The CPUs that the kubelet and cpusetd reserve: those of shared containers as long as the other one is exclusive. */
export const reservedCpus = lastCpu === 1 ? '0' : `0-${lastCpu - 1}`;

/** Settings of a kubelet that gives out two CPUs, one more than cpusetd can give as exclusive ones. */
export const kubeletOfTwoCpus = { reservedSystemCPUs: '', kubeReserved: { cpu: String(lastCpu - 1) } };

/** Settings of a kubelet that reserves less than cpusetd, so that pods arrive for which cpusetd has no CPU. */
export const kubeletWithoutReservation = { reservedSystemCPUs: '' };
