import { readInfo, type VerboseInfo } from './verbose-info';

/** The settings of a runtime that matter here. */
export interface RuntimeSettings {
  /**
   * The limits of huge pages in containers' specs, and so in the requests that plugins get: containerd drops them by
   * default. `not-known`: the runtime does not say.
   */
  readonly hugePages: 'reported' | 'dropped' | 'not-known';
}

/**
 * Reads the settings of the runtime of this name. `askStatus` makes a verbose Status call: containerd puts its whole
 * configuration there.
 */
export async function readRuntimeSettings(
  name: string,
  askStatus: () => Promise<VerboseInfo>,
): Promise<RuntimeSettings> {
  // CRI-O has no setting that drops them.
  if (name === 'cri-o') return { hugePages: 'reported' };
  const drops = readInfo(await askStatus(), 'config')?.disableHugetlbController;
  if (typeof drops !== 'boolean') return { hugePages: 'not-known' };
  return { hugePages: drops ? 'dropped' : 'reported' };
}
