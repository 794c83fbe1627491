import { InvalidArgumentError, Option, type Command } from 'commander';

import type { CliContext, ExitStatus } from '../context';
import { createStateDirOption } from '../options/node-options';

/** `cpusetd state …`: reads and writes the state on disk without a daemon. */
export function addStateCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  const state = program
    .command('state')
    .description('show, check, import and export what cpusetd remembers on disk')
    .helpCommand(false);

  state
    .command('show')
    .description('print the assignments on disk; safe beside a running daemon')
    .addOption(createStateDirOption())
    .addOption(createOutputOption(['table', 'json', 'yaml']))
    .action(async ({ stateDir, output }: { stateDir: string; output: 'table' | 'json' | 'yaml' }) => {
      const { showState } = await import('../state/show-state');
      exit(await showState({ stateDir, output }, context));
    });

  state
    .command('verify')
    .description('check whether the state on disk can be used: exit 0 when it can, 1 and the reason when not')
    .addOption(createStateDirOption())
    .action(async ({ stateDir }: { stateDir: string }) => {
      const { verifyState } = await import('../state/show-state');
      exit(verifyState({ stateDir }, context));
    });

  state
    .command('export-kubelet')
    .description("print the assignments as a cpu_manager_state of the kubelet's static policy")
    .addOption(createStateDirOption())
    .addOption(
      new Option('--format <format>', 'v2 from Kubernetes 1.18, v4 from 1.37')
        .choices(['v2', 'v3', 'v4'])
        .default('v2'),
    )
    .addOption(createSysfsRootOption())
    .addOption(new Option('--config <file>', "of cpusetd run: its reservation is the kubelet's").env('CPUSETD_CONFIG'))
    .action(async (options: { stateDir: string; format: 'v2' | 'v3' | 'v4'; sysfsRoot: string; config?: string }) => {
      const { exportKubelet } = await import('../state/export-kubelet');
      await exportKubelet(options, context);
    });

  state
    .command('import-kubelet')
    .description("take over the assignments of a kubelet's cpu_manager_state; exit 1 where the kubelet would refuse it")
    .argument('<file>', 'the file, normally /var/lib/kubelet/cpu_manager_state', notEmpty)
    .addOption(createStateDirOption())
    .addOption(createOutputOption(['table', 'json']))
    .option('--dry-run', 'only read the file and show what would be taken over; with -o json what is in any file')
    .addOption(createSysfsRootOption())
    .addOption(new Option('--config <file>', "of cpusetd run: its reservation is the kubelet's").env('CPUSETD_CONFIG'))
    .addOption(
      new Option('--cri-endpoint <path>', 'the runtime; asked whose containers are meant by a file of format v1')
        .env('CPUSETD_CRI_ENDPOINT')
        .default('/run/containerd/containerd.sock'),
    )
    .action(
      async (
        file: string,
        options: {
          stateDir: string;
          output: 'table' | 'json';
          dryRun?: true;
          criEndpoint: string;
          sysfsRoot: string;
          config?: string;
        },
      ) => {
        const { importKubelet } = await import('../state/import-kubelet');
        exit(await importKubelet(file, { ...options, dryRun: options.dryRun ?? false }, context));
      },
    );
}

function createSysfsRootOption(): Option {
  return new Option('--sysfs-root <path>', 'where the machine is described').env('CPUSETD_SYSFS_ROOT').default('/sys');
}

function createOutputOption(formats: readonly string[]): Option {
  return new Option('-o, --output <format>', 'how to print').choices(formats).default('table');
}

function notEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('It is empty; name a file.');
  return value;
}
