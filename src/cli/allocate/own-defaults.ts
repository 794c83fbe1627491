import { complain, type CliContext } from '../context';
import { readDaemonSettings } from '../options/daemon-settings';
import { findNodeConfig } from '../options/node-config';
import type { BatchDefaults } from './answer-line';
import type { DefaultsOptions } from './read-defaults';

/**
 * The options and the reservation of this node's cpusetd, for its own machine, where the command line has neither.
 * Tells on standard error where they are from. Nothing where the node has no configuration file. Throws UsageError for
 * a faulty file.
 */
export async function readOwnDefaults(
  given: DefaultsOptions,
  { topology }: Pick<BatchDefaults, 'topology'>,
  { env, etcRoot, stderr }: Pick<CliContext, 'env' | 'etcRoot' | 'stderr'>,
): Promise<Partial<Pick<BatchDefaults, 'options' | 'reserved'>>> {
  const isGiven = given.options !== undefined || given.reservedCpus !== undefined;
  const file = isGiven ? undefined : findNodeConfig({ env, etcRoot });
  if (file === undefined || !topology) return {};
  const { options, reserved } = await readDaemonSettings(file, topology, env);
  complain(
    stderr,
    `the options and the reservation, ${reserved.isEmpty ? 'no CPU' : `CPUs ${reserved.toString()}`}, are those of ${file}`,
  );
  return { options, reserved };
}
