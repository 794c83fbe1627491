import { CpuSet } from '../core/cpuset';
import { CpusetdError } from '../core/errors';
import { NO_OPTIONS, type Settings, type StaticPolicyOptions } from '../core/model/settings';
import type { Topology } from '../core/topology';
import type { Config } from './config';

/** The options that decide placements, checked against the machine. Throws CpusetdError where they don't fit it. */
export function settingsOf(config: Config, topology: Topology): Settings {
  const options = readOptions(config.cpuManagerPolicyOptions);
  return {
    cpuManagerPolicy: config.cpuManagerPolicy,
    options,
    reserved: reservedOf(config, topology),
    minSharedCpus: config.minSharedCpus,
    onInsufficientCpu: config.onInsufficientCpu,
    liftCpuQuota: config.liftCpuQuota,
  };
}

function reservedOf({ reservedCpus, reservedCpuCount, cpuManagerPolicy }: Config, topology: Topology): CpuSet {
  const { online } = topology;
  if (reservedCpus !== undefined) {
    const missing = reservedCpus.minus(online);
    if (!missing.isEmpty) {
      throw fault(
        `--reserved-cpus ${reservedCpus.toString()}: CPUs ${missing.toString()} are not online on this machine (online: ${online.toString()}); name online CPUs only`,
      );
    }
    if (cpuManagerPolicy === 'static' && reservedCpus.equals(online)) {
      throw fault(
        `--reserved-cpus ${reservedCpus.toString()}: all online CPUs are reserved, so none could ever be given out; leave at least one`,
      );
    }
    return reservedCpus;
  }
  const count = reservedCpuCount ?? 0;
  if (count >= online.size && cpuManagerPolicy === 'static') {
    throw fault(
      `--reserved-cpu-count ${count}: the machine has ${online.size} online CPUs, so none could ever be given out; leave at least one`,
    );
  }
  return CpuSet.of(online.toArray().slice(0, count));
}

function readOptions(_values: ReadonlyMap<string, string>): StaticPolicyOptions {
  return NO_OPTIONS;
}

function fault(message: string): CpusetdError {
  return new CpusetdError('INVALID_ARGUMENT', message);
}
