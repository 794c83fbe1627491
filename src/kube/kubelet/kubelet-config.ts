import { asObject, asString } from '../json';
import { parseMilli } from '../quantity';

/** What of the kubelet's configuration concerns CPUs. */
export interface KubeletConfig {
  readonly cpuManagerPolicy: 'none' | 'static';
  /** As written; it replaces the counts. */
  readonly reservedSystemCpus?: string;
  /** CPU of kubeReserved and systemReserved together; 0 when nothing is reserved. */
  readonly reservedMilliCpu: number;
}

/** Reads a KubeletConfiguration, whether from a file or from configz; undefined for what is none. */
export function readKubeletConfig(document: unknown): KubeletConfig | undefined {
  const outer = asObject(document);
  const config = asObject(outer['kubeletconfig'] ?? document);
  const isConfig = 'kubeletconfig' in outer || config['kind'] === 'KubeletConfiguration';
  if (!isConfig) return undefined;
  const list = asString(config['reservedSystemCPUs']).trim();
  return {
    cpuManagerPolicy: asString(config['cpuManagerPolicy']) === 'static' ? 'static' : 'none',
    ...(list !== '' && { reservedSystemCpus: list }),
    reservedMilliCpu:
      (parseMilli(asObject(config['kubeReserved'])['cpu']) ?? 0) +
      (parseMilli(asObject(config['systemReserved'])['cpu']) ?? 0),
  };
}
