// A machine's description as arguments for QEMU.

/** @import { Machine } from './machine.mjs' */

/** @typedef {{ cores?: number[], memoryMib: number }} MemoryNode of a machine with one node, cores may be absent */
/**
 * The parts of a description that a machine needs to boot.
 * @typedef {Pick<Machine, 'sockets' | 'cores' | 'threads' | 'cgroup' | 'kernelArguments'> &
 *   Partial<Pick<Machine, 'cachesPerSocket' | 'init' | 'siblings'>> & { nodes: MemoryNode[] }} BootMachine
 */

/**
 * Sockets, cores, threads, caches, memory nodes.
 * @param {BootMachine} machine
 * @returns {string[]}
 */
export function formatTopologyArguments({ sockets, cores, threads, cachesPerSocket = 1, nodes }) {
  const modules = cachesPerSocket > 1 ? cachesPerSocket : undefined;
  const perModule = cores / (modules ?? 1);
  const smp = [
    `${sockets * cores * threads},sockets=${sockets}`,
    ...(modules === undefined ? [] : [`modules=${modules}`]),
    `cores=${perModule},threads=${threads}`,
  ].join(',');
  const cache = modules === undefined ? '' : ',smp-cache.0.cache=l3,smp-cache.0.topology=module';
  return [
    ...['-M', `q35${cache}`, '-smp', smp],
    ...['-m', `${nodes.reduce((sum, { memoryMib }) => sum + memoryMib, 0)}M`],
    ...(nodes.length === 1 ? [] : [...nodes.flatMap(formatNode), ...nodes.flatMap(formatDistances)]),
  ];

  /** @param {MemoryNode} node @param {number} id */
  function formatNode({ cores: held = [], memoryMib }, id) {
    const memory = memoryMib === 0 ? [] : ['-object', `memory-backend-ram,id=m${id},size=${memoryMib}M`];
    return [
      ...memory,
      ...['-numa', `node,nodeid=${id}${memoryMib === 0 ? '' : `,memdev=m${id}`}`],
      ...held.flatMap((core) => ['-numa', `cpu,node-id=${id},${placeOf(core)}`]),
    ];
  }
  /** @param {MemoryNode} _node @param {number} id */
  function formatDistances(_node, id) {
    const others = nodes.map((_other, other) => other).filter((other) => other !== id);
    return others.flatMap((other) => ['-numa', `dist,src=${id},dst=${other},val=21`]);
  }
  /** @param {number} core */
  function placeOf(core) {
    const inSocket = core % cores;
    const module = modules === undefined ? '' : `module-id=${Math.floor(inSocket / perModule)},`;
    return `socket-id=${Math.floor(core / cores)},${module}core-id=${inSocket % perModule}`;
  }
}

/**
 * Everything but topology, kernel and disks. Software emulation always, whatever the host could do: one thread, since
 * it costs less in all and has no races; the "max" CPU as Intel, since only then the guest sees caches and siblings in
 * full.
 */
export const commonArguments = [
  ...['-accel', 'tcg,thread=single,tb-size=512', '-cpu', 'max,vendor=GenuineIntel', '-bios', 'qboot.rom'],
  ...['-nodefaults', '-no-user-config', '-display', 'none', '-nic', 'none', '-no-reboot'],
];

/**
 * The kernel's command line. `lpj` saves calibrating each CPU, which under emulation takes minutes. The TSC is measured
 * wrongly on a busy host (time then runs several times too fast), so the HPET gives the time. The rest switches off
 * things that a short life does not need.
 * @param {BootMachine} machine
 * @returns {string}
 */
export function formatKernelArguments({ cgroup, init, kernelArguments }) {
  return [
    'console=ttyS0 root=/dev/nvme0n1 rootfstype=ext4 rw panic=-1 quiet mitigations=off nokaslr random.trust_cpu=on',
    'lpj=8400000 clocksource=hpet no_timer_check nowatchdog audit=0 apparmor=0 cryptomgr.notests numa_balancing=disable',
    'transparent_hugepage=never',
    // A machine ends with its runner, which also sees when it hangs: its own limit is a day.
    `machine.cgroup=${cgroup} machine.limit=86400`,
    init === 'systemd'
      ? 'init=/lib/systemd/systemd systemd.unit=machine.service systemd.show_status=0 TERM=dumb'
      : 'init=/init',
    ...kernelArguments,
  ].join(' ');
}
