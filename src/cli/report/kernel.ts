import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { KNOWN_MANAGERS } from '../../core/verdict/drift-cause';
import type { Part } from './part';
import { readIfThere, readText } from './read-text';

/** Parameters of the kernel that concern CPUs: their values are shown, of others the names. */
const OF_CPUS =
  /^(?:isolcpus|nohz|nohz_full|rcu_nocbs?|rcu_nocb_poll|irqaffinity|kthread_cpus|maxcpus|nr_cpus|possible_cpus|nosmt|smt|mitigations|numa|numa_\w+|cgroup\w*|psi|systemd\.(?:unified|legacy)\w*|systemd\.cpu_affinity|skew_tick|intel_pstate|amd_pstate|processor\.\w+|intel_idle\.\w+|cpuidle\.\w+|idle|tsc|threadirqs|preempt|workqueue\.\w+|hugepages|hugepagesz|default_hugepagesz|transparent_hugepage|tuned\.\w+)$/;

/** Programs whose CPUs matter, by the name that the kernel has for their process. */
const OF_INTEREST = new Set([
  ...KNOWN_MANAGERS.keys(),
  ...['systemd', 'kubelet', 'containerd', 'crio', 'dockerd', 'tuned', 'irqbalance', 'cpusetd'],
]);
const MAX_PROCESSES = 100;

/** The kernel and the host as they describe themselves: no file as it is, but those facts of it that concern CPUs. */
export function readKernel({ procRoot, etcRoot }: { readonly procRoot: string; readonly etcRoot: string }): Part {
  const osRelease = readIfThere(join(etcRoot, 'os-release')) ?? '';
  const memory = /^MemTotal:\s*(.*)$/m.exec(readIfThere(join(procRoot, 'meminfo')) ?? '')?.[1];
  return {
    name: 'kernel.json',
    data: {
      // The machine that built it, and who did.
      version: readText(join(procRoot, 'version'))
        .trim()
        .replaceAll(/\([^()\s]*@[^()\s]*\)/g, '(left-out)'),
      distribution: Object.fromEntries(
        ['ID', 'VERSION_ID', 'PRETTY_NAME'].flatMap((key) => {
          const [, value] = new RegExp(`^${key}="?([^"\\n]*)"?$`, 'm').exec(osRelease) ?? [];
          return value === undefined ? [] : [[key, value]];
        }),
      ),
      memory,
      commandLine: readCommandLine(readIfThere(join(procRoot, 'cmdline')) ?? ''),
      cpus: summarizeCpus(readIfThere(join(procRoot, 'cpuinfo')) ?? ''),
      controllers: (readIfThere(join(procRoot, 'cgroups')) ?? '').split('\n').filter((line) => line !== ''),
      cgroupMounts: listCgroupMounts(readIfThere(join(procRoot, 'self/mountinfo')) ?? ''),
      inotify: Object.fromEntries(
        ['max_user_watches', 'max_user_instances'].map((name) => [
          name,
          Number(readIfThere(join(procRoot, 'sys/fs/inotify', name)) ?? NaN),
        ]),
      ),
      processes: listProcesses(procRoot),
    },
  };
}

/** The times of the CPUs since the boot, without the line of interrupts, which has thousands of numbers. */
export function readStat(procRoot: string): Part {
  const lines = readText(join(procRoot, 'stat')).split('\n');
  return { name: 'proc-stat.txt', text: lines.filter((line) => !line.startsWith('intr ')).join('\n') };
}

function readCommandLine(text: string): readonly string[] {
  // Behind a double dash are the arguments of the first process.
  const [parameters = ''] = text.split(/(?:^|\s)--(?:\s|$)/, 1);
  const words = parameters.match(/(?:"[^"]*"|[^\s"])+/g) ?? [];
  return words.map((word) => {
    const [name] = word.split('=', 1) as [string];
    return name === word || OF_CPUS.test(name) ? word : `${name}=left-out`;
  });
}

const CPU_FIELDS = /^(?:vendor_id|cpu family|model|model name|stepping|microcode|flags|Features|CPU \w+|cpu|machine)$/;

/** The kinds of CPUs, each with its number. */
function summarizeCpus(text: string): readonly object[] {
  const kinds = new Map<string, { count: number; readonly fields: Readonly<Record<string, string>> }>();
  for (const block of text.split('\n\n')) {
    const fields = Object.fromEntries(
      block.split('\n').flatMap((line) => {
        const [, name = '', value = ''] = /^([^:\t]*[^:\s])\s*:\s*(.*)$/.exec(line) ?? [];
        return CPU_FIELDS.test(name) ? [[name, value]] : [];
      }),
    );
    const key = JSON.stringify(fields);
    const kind = kinds.get(key);
    if (kind) kind.count += 1;
    else if (key !== '{}') kinds.set(key, { count: 1, fields });
  }
  return [...kinds.values()].map(({ count, fields }) => ({ count, ...fields }));
}

function listCgroupMounts(mountInfo: string): readonly object[] {
  return mountInfo.split('\n').flatMap((line) => {
    const [mount, filesystem] = line.split(' - ');
    const [type, , options] = filesystem?.split(' ') ?? [];
    if (type !== 'cgroup' && type !== 'cgroup2') return [];
    const [, , , , path, flags] = mount!.split(' ');
    return [{ path, type, flags, options }];
  });
}

function listProcesses(procRoot: string): readonly object[] {
  return readdirSync(procRoot)
    .filter((name) => /^\d+$/.test(name))
    .sort((a, b) => Number(a) - Number(b))
    .flatMap((pid) => {
      const name = readIfThere(join(procRoot, pid, 'comm'))?.trim();
      if (name === undefined || !OF_INTEREST.has(name)) return [];
      const status = readIfThere(join(procRoot, pid, 'status')) ?? '';
      return [{ pid: Number(pid), name, cpus: /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] }];
    })
    .slice(0, MAX_PROCESSES);
}

/** Names that this host goes by, wherever they are written down. */
export function findHostNames({
  procRoot,
  etcRoot,
}: {
  readonly procRoot: string;
  readonly etcRoot: string;
}): readonly string[] {
  const written = [join(etcRoot, 'hostname'), join(procRoot, 'sys/kernel/hostname')].flatMap(
    (path) => readIfThere(path)?.trim() ?? [],
  );
  return [...written, ...findOverrides(procRoot)];
}

/** The name that the kubelet was given for its Node. */
function findOverrides(procRoot: string): readonly string[] {
  return readdirSync(procRoot)
    .filter((pid) => /^\d+$/.test(pid) && readIfThere(join(procRoot, pid, 'comm'))?.trim() === 'kubelet')
    .flatMap((pid) => {
      const args = (readIfThere(join(procRoot, pid, 'cmdline')) ?? '').split('\0');
      const at = args.findIndex((arg) => /^--?hostname-override(?:=|$)/.test(arg));
      const name = at === -1 ? undefined : (args[at]!.split('=', 2)[1] ?? args[at + 1]);
      return name === undefined ? [] : [name];
    });
}
