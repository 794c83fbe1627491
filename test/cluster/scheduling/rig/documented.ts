import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { projectRoot } from '../../../e2e/rig/project-root';

const read = (path: string): string => readFileSync(join(projectRoot(), path), 'utf8');

/** The headings of docs/scheduling.md that have a command line. */
export type DocumentedFor = 'For scheduler-plugins' | 'For crane-scheduler and the extender';

/**
 * The arguments after `cpusetd run` that docs/scheduling.md gives under a heading.
 * @param replacements of arguments: by the documented value, which must be there
 */
export function readDocumentedCommand(
  heading: DocumentedFor,
  replacements: Readonly<Record<string, string>>,
): string[] {
  const [, section = ''] = read('docs/scheduling.md').split(`\n### ${heading}\n`);
  const block = /^ +cpusetd run ((?:.*\\\n)*.*)$/m.exec(section)?.[1];
  if (block === undefined) throw new Error(`docs/scheduling.md has no command line under ${heading}`);
  const args = block.replaceAll('\\\n', ' ').trim().split(/\s+/);
  for (const value of Object.keys(replacements))
    if (!args.includes(value)) throw new Error(`the documented command line has no ${value}: ${args.join(' ')}`);
  return args.map((arg) => replacements[arg] ?? arg);
}

export interface SchedulerSettings {
  readonly informerMode?: 'Dedicated' | 'Shared';
  readonly cacheResyncPeriodSeconds?: number;
}

/**
 * The text of deploy/scheduler-plugins/scheduler.yaml with other settings of the plugin, and without long pauses
 * between retries of a pod.
 */
export function formatSchedulerConfig({ informerMode, cacheResyncPeriodSeconds }: SchedulerSettings): string {
  const config = parse(read('deploy/scheduler-plugins/scheduler.yaml')) as {
    podMaxBackoffSeconds?: number;
    profiles: [{ pluginConfig: [{ args: { cacheResyncPeriodSeconds: number; cache: { informerMode: string } } }] }];
  };
  const { args } = config.profiles[0].pluginConfig[0];
  if (informerMode !== undefined) args.cache.informerMode = informerMode;
  if (cacheResyncPeriodSeconds !== undefined) args.cacheResyncPeriodSeconds = cacheResyncPeriodSeconds;
  config.podMaxBackoffSeconds = 1;
  return stringify(config);
}
