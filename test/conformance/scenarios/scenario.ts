/* eslint-disable @typescript-eslint/no-explicit-any -- JSON whose fields differ from area to area */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildTopology, type Topology } from '../../../src/core/topology';

/** A scenario with its outcome. The contents of `given`, `steps` and `expect` depend on the area. */
export interface Scenario {
  readonly id: string;
  readonly area: string;
  readonly name: string;
  readonly given: any;
  readonly steps?: any[];
  readonly expect: any;
}

/** Runs one scenario in cpusetd and compares the result with the expected one. */
export type Runner = (scenario: Scenario, machines: ReadonlyMap<string, Topology>) => void;

export type CpuRow = readonly [cpu: number, core: number, socket: number, numaNode: number, uncoreCache: number];

export function machineOf(rows: readonly CpuRow[]): Topology {
  return buildTopology({
    cpus: rows.map(([id, core, socket, numaNode, uncoreCache]) => ({ id, core, socket, numaNode, uncoreCache })),
  });
}

export function loadScenarios(): { scenarios: readonly Scenario[]; machines: ReadonlyMap<string, Topology> } {
  const file = join(__dirname, '../../fixtures/scenarios/kubelet-scenarios.json');
  const { scenarios, topologies } = JSON.parse(readFileSync(file, 'utf8')) as {
    scenarios: Scenario[];
    topologies: Record<string, { cpus: CpuRow[] }>;
  };
  return {
    scenarios,
    machines: new Map(Object.entries(topologies).map(([name, { cpus }]) => [name, machineOf(cpus)])),
  };
}
