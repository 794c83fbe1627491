import { readInfo, type VerboseInfo } from './verbose-info';

/** The settings of a runtime that matter here, as far as it tells them. */
export interface RuntimeSettings {
  /** It leaves the limits of huge pages out of containers' specs, and so out of what plugins get: the default of containerd. */
  readonly dropsHugePages: boolean;
}

/** Reads the answer to a verbose Status call: containerd puts its whole configuration there. */
export function readRuntimeSettings(info: VerboseInfo): RuntimeSettings {
  return { dropsHugePages: readInfo(info, 'config')?.disableHugetlbController === true };
}
