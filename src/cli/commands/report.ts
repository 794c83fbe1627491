import { join, resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { InvalidArgumentError, Option, type Command } from 'commander';

import { plural } from '../../core/text';
import { showText } from '../../core/show-text';
import { complain, UsageError, write, type CliContext } from '../context';
import { addNodeOptions, listFlags, loadNodeOptions } from '../options/run-options';
import type { LoadedConfig } from '../../app/config';
import type { ReportedOptions } from '../report/collect-report';
import type { Redaction } from '../report/redact';

interface ReportOptions {
  readonly output?: string;
  readonly redact: Redaction;
}

/**
 * `cpusetd report`: one archive for a bug report. It needs no daemon, and waits seconds at most for one that hangs, and
 * no valid options.
 */
export function addReportCommand(program: Command, context: CliContext): void {
  const { stdout, stderr } = context;
  const command = program
    .command('report')
    .description(
      'write one archive for a bug report: status, state, journal, machine, kernel, findings; changes nothing',
    )
    .addOption(
      new Option(
        '-o, --output <file>',
        'the .tar.gz to write, - for standard output (default: a new file in this folder)',
      ).argParser(parseOutput),
    )
    .addOption(
      new Option(
        '--redact <what>',
        "standard = host names, addresses, annotations' values; pods = also names of pods, namespaces, containers; off = secrets only",
      )
        .choices(['standard', 'pods', 'off'])
        .default('standard'),
    );
  addNodeOptions(command);
  command.action(async ({ output, redact }: ReportOptions) => {
    if (output === '-' && stdout.isTTY)
      throw new UsageError(
        '--output -: standard output is a terminal, and an archive is no text; redirect it, or name a file',
      );
    const loaded = await loadNodeOptions(command, context);
    if (!loaded.ok) {
      const ofFlags = loaded.problems.filter((problem) =>
        listFlags(command).some((name) => problem.startsWith(`--${name}:`)),
      );
      if (ofFlags.length > 0) throw new UsageError(...ofFlags);
      complain(stderr, ...loaded.problems, 'the report is made without these options');
    }
    // It may run in the container of the daemon, and shares its memory limit: a third less, for as long a journal as
    // there may be.
    setFlagsFromString('--optimize-for-size');
    const { makeReport, nameOfReport } = await import('../report/make-report');
    const at = new Date();
    const roots = { procRoot: '/proc', etcRoot: context.etcRoot };
    const options = describe(loaded);
    const report = await makeReport({ options, redaction: redact, version: context.version, roots, at });
    const path = output === '-' ? undefined : resolve(output ?? `${nameOfReport(at)}.tar.gz`);
    if (path === undefined) await write(stdout, report.archive);
    else {
      const { saveFile } = await import('../report/save-file');
      saveFile(path, report.archive);
    }
    const { files, missing, archive } = report;
    const lines = [
      `${path ?? 'the report'}: ${plural(files, 'file')}, ${Math.ceil(archive.length / 1024)} KiB${
        missing.length > 0
          ? `; ${missing.length} could not be had: ${join(nameOfReport(at), 'index.json')} says why`
          : ''
      }`,
      ...(loaded.file ? [`The options are those of ${loaded.file.path}.`] : []),
      ADVICE[redact],
      'Look through it before you send it.',
    ];
    (path === undefined ? stderr : stdout).write(lines.map((line) => `${showText(line)}\n`).join(''));
  });
}

/** The options to look at the node with. The faulty ones are left out, and listed in the report. */
function describe(loaded: LoadedConfig): ReportedOptions {
  const file = loaded.file && { file: loaded.file.path };
  return loaded.ok
    ? { config: loaded.config, inForce: loaded.inForce, problems: [], ...file }
    : { ...loaded.usable, problems: loaded.problems, ...file };
}

const ADVICE: Readonly<Record<Redaction, string>> = {
  standard:
    'Host names, addresses and the values of annotations are left out. Names of pods, namespaces and containers are in it: --redact pods replaces them.',
  pods: 'Host names, addresses, the values of annotations, and names of pods, namespaces and containers are left out.',
  off: 'Nothing but secrets is left out.',
};

function parseOutput(text: string): string {
  if (text === '') throw new InvalidArgumentError('It is empty; name a file, or - for standard output.');
  return text;
}
