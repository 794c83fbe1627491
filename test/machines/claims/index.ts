import type { Claim } from '../claim';
import { acrossCores } from './across-cores';
import { acrossNuma } from './across-numa';
import { auditFinds } from './audit';
import { bySocket } from './by-socket';
import { byUncoreCache } from './by-uncore-cache';
import { containerdKilled } from './containerd-killed';
import { cpuBackToClass } from './cpu-back-to-class';
import { cpuOffline } from './cpu-offline';
import { cpusBarred } from './cpus-barred';
import { cranePolicies } from './crane';
import { daemonKilled } from './daemon-killed';
import { daemonReload } from './daemon-reload';
import { debianPackage } from './debian-package';
import { driftRepaired } from './drift-repaired';
import { emulatedNodesAsOne } from './emulated-nodes';
import { firstProcess } from './first-process';
import { fullCores } from './full-cores';
import { hugePages } from './huge-pages';
import { irqsSteered } from './irqs-steered';
import { memoryNodesBrought } from './memory-nodes-brought';
import { memoryWithout } from './memory-without';
import { parentNarrowed } from './parent-narrowed';
import { singleNumaNode } from './single-numa-node';
import { strictReservation } from './strict-reservation';
import { systemdProxy } from './systemd-proxy';
import { systemdService } from './systemd-service';
import { topologyRead } from './topology-read';
import { useMeasured } from './use-measured';

/** All claims, in the order of their run: first those with the usual daemon, last those that change the machine. */
export const claims: readonly Claim[] = [
  topologyRead,
  firstProcess,
  auditFinds,
  daemonKilled,
  containerdKilled,
  daemonReload,
  parentNarrowed,
  driftRepaired,
  memoryNodesBrought,
  fullCores,
  acrossCores,
  acrossNuma,
  bySocket,
  byUncoreCache,
  strictReservation,
  cranePolicies,
  singleNumaNode,
  memoryWithout,
  hugePages,
  emulatedNodesAsOne,
  irqsSteered,
  useMeasured,
  systemdService,
  systemdProxy,
  debianPackage,
  cpusBarred,
  cpuOffline,
  cpuBackToClass,
];
