import { destination, pino } from 'pino';

import { ContainerCgroups } from '../../src/app/cgroups/container-cgroups';
import { logEvents } from '../../src/app/journal/event-log';
import { openAssignmentStore } from '../../src/app/transaction/assignment-store';
import { Transactor } from '../../src/app/transaction/transactor';
import type { Timing } from '../../src/app/transaction/transaction';
import { CpuSet } from '../../src/core/cpuset';
import type { RuntimeAnswer, RuntimeEvent } from '../../src/core/model/events';
import { NodeModel } from '../../src/core/model/node-model';
import { NO_OPTIONS } from '../../src/core/model/settings';
import type { Topology } from '../../src/core/topology';
import type { DomainEvent } from '../../src/core/transition';
import { openCgroups } from '../../src/host';
import { readEvent } from '../../src/nri-events/read-event';
import { writeAnswer } from '../../src/nri-events/write-answer';
import { CGROUP_ROOT } from './shared-cgroups';

/** Milliseconds of every part of one request, without its way over the socket. */
export interface Parts extends Timing {
  readonly decodeMs: number;
  readonly encodeMs: number;
  /** From the request's bytes to the answer's, with the parts above and all between them. */
  readonly totalMs: number;
}

/**
 * The daemon's own path of a request, from bytes to bytes, in this process: real state file, real cgroups, real log.
 */
export interface InProcess {
  readonly transactor: Transactor;
  /** The work of the daemon after the answers have left. */
  readonly writeLog: () => void;
  /** One request, and then its log. */
  carryOut(method: string, payload: Uint8Array): Parts;
}

/** CPU 0 is reserved; `dir` takes state and log. */
export function openInProcess(dir: string, topology: Topology): InProcess {
  const model = new NodeModel(topology, {
    cpuManagerPolicy: 'static',
    options: NO_OPTIONS,
    reserved: CpuSet.of([0]),
    minSharedCpus: 1,
    onInsufficientCpu: 'refuse',
    liftCpuQuota: true,
  });
  const log = pino({ base: null }, destination({ dest: `${dir}/in-process.log`, sync: true }));
  const memory = openAssignmentStore({ stateDir: `${dir}/in-process`, version: '0.0.0-bench', model, log });
  const last: { timing: Timing } = { timing: { decideMs: 0, saveMs: 0, moveMs: 0 } };
  const cgroups = openCgroups({ cgroupRoot: CGROUP_ROOT });
  const unlogged: DomainEvent[] = [];
  const transactor = new Transactor({
    model,
    save: memory.save,
    mover: new ContainerCgroups({ cgroups, canWrite: true, model, log }),
    now: () => new Date().toISOString(),
    log,
    observer: {
      onTransaction: ({ timing, reported }) => {
        if (timing) last.timing = timing;
        unlogged.push(...reported);
      },
    },
  });
  return {
    transactor,
    writeLog: () => logEvents(log, unlogged.splice(0)),
    carryOut(method, payload) {
      const startMs = performance.now();
      const event = readEvent(method, payload);
      if (event === 'ignored') throw new Error(`${method} means nothing to us`);
      const decodedMs = performance.now();
      const answer = transactor.handle(event);
      const handledMs = performance.now();
      encode(event, answer);
      const endMs = performance.now();
      this.writeLog();
      return {
        ...last.timing,
        decodeMs: decodedMs - startMs,
        encodeMs: endMs - handledMs,
        totalMs: endMs - startMs,
      };
    },
  };
}

function encode(event: RuntimeEvent, answer: RuntimeAnswer): Uint8Array {
  if (answer.kind === 'refuse') throw new Error(`${event.kind} was refused: ${answer.message}`);
  return writeAnswer(event, answer);
}
