// The address of a repository in a registry.
import { UsageError } from './publish.mjs';

/**
 * Reads `HOST[:PORT]/NAME`.
 * @param {string} option
 * @param {string} text
 * @returns {{ host: string, repository: string }} the host with its port
 * @throws {UsageError}
 */
export function parseRepository(option, text) {
  const [, host] = /^([a-z0-9][a-z0-9.-]*(?::\d+)?)(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)+$/.exec(text) ?? [];
  if (host === undefined || !/[.:]|^localhost$/.test(host))
    throw new UsageError(`--${option} ${text} is no HOST/NAME of a registry, without a scheme and without a tag`);
  return { host, repository: text };
}
