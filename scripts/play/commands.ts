import { parseCpuList } from '../../src/core/cpuset';
import { listMachines } from './machines';
import { NoCommand } from './no-command';
import type { PlayedNode } from './node';

/** The node of a session, and what replaces it. */
export interface Session {
  node: PlayedNode;
  /** Ends the node, and opens one of another machine. */
  readonly change: (machine: string) => Promise<void>;
}

interface Command {
  readonly name: string;
  /** Its arguments, as the help has them. */
  readonly usage: string;
  readonly help: string;
  /** The arguments that it takes: least and most. */
  readonly takes: readonly [number, number];
  readonly run: (session: Session, args: readonly string[]) => Promise<string>;
}

const COMMANDS: readonly Command[] = [
  {
    name: 'run',
    usage: 'NAME CPUS|shared',
    help: 'run a pod: Guaranteed with so much CPU, or Burstable in the shared pool',
    takes: [2, 2],
    run: ({ node }, [name, cpus]) => node.run(parseName(name!), parseSize(cpus!)),
  },
  {
    name: 'remove',
    usage: 'NAME',
    help: 'stop and remove a pod',
    takes: [1, 1],
    run: ({ node }, [name]) => node.remove(name!),
  },
  {
    name: 'drift',
    usage: 'NAME CPUS',
    help: 'write a cpuset past cpusetd, and wait for the repair',
    takes: [2, 2],
    run: ({ node }, [name, cpus]) => node.drift(name!, parseCpus(cpus!, node.machine)),
  },
  {
    name: 'status',
    usage: '',
    help: 'cpusetd status',
    takes: [0, 0],
    run: ({ node }) => node.daemon.ask('status'),
  },
  {
    name: 'topology',
    usage: '',
    help: 'cpusetd topology: the owner of each CPU',
    takes: [0, 0],
    run: ({ node }) => node.daemon.ask('topology'),
  },
  {
    name: 'explain',
    usage: 'NAME',
    help: 'cpusetd explain: the reason for the CPUs of a pod, and its history',
    takes: [1, 1],
    run: ({ node }, [name]) => node.daemon.ask('explain', name!, '--state-dir', node.daemon.stateDir),
  },
  {
    name: 'log',
    usage: '[N]',
    help: "the last lines of the daemon's log: 20, or N",
    takes: [0, 1],
    run: ({ node }, [count = '20']) => Promise.resolve(formatLog(node, parseCount(count))),
  },
  {
    name: 'machine',
    usage: '[NAME]',
    help: 'begin again on another machine; without a name, list the machines',
    takes: [0, 1],
    run: async (session, [name]) => {
      if (name === undefined) return `CPUs ${session.node.machine}; machines: ${listMachines().join(', ')}`;
      await session.change(name);
      return describeNode(session.node);
    },
  },
];

/** The commands, one a line. */
export function formatHelp(): string {
  const rows = [
    ...COMMANDS.map(({ name, usage, help }) => [`${name} ${usage}`.trimEnd(), help] as const),
    ['help', 'this list'],
    ['quit', 'end everything; so do the end of the input and Ctrl-C'],
  ] as const;
  return rows.map(([command, help]) => `  ${command.padEnd(24)}${help}`).join('\n');
}

/**
 * Runs one line of a session. Gives what it prints; undefined for `quit`.
 *
 * @throws NoCommand when the line is none, with the rule
 */
export async function runLine(session: Session, line: string): Promise<string | undefined> {
  const [name = '', ...args] = line.split(/\s+/).filter((word) => word !== '');
  if (name === '' || name.startsWith('#')) return '';
  if (name === 'quit') return undefined;
  if (name === 'help') return formatHelp();
  const command = COMMANDS.find((each) => each.name === name);
  if (!command) throw new NoCommand(`"${name}" is no command; help lists them`);
  const [least, most] = command.takes;
  if (args.length < least || args.length > most)
    throw new NoCommand(`write ${`${name} ${command.usage}`.trimEnd()}: ${command.help}`);
  return (await command.run(session, args)).trimEnd();
}

/** The CPUs of a node, and the way to it from another terminal. */
export function describeNode({ machine, daemon }: PlayedNode): string {
  const command = `node dist/cpusetd.js status --admin-socket ${daemon.adminSocket}`;
  return `cpusetd serves the CPUs ${machine}; from another terminal:\n  ${command}`;
}

function parseName(text: string): string {
  if (/^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$/.test(text)) return text;
  throw new NoCommand(`"${text}" is no name of a pod; take small letters, digits and -`);
}

/** 0 for a pod of the shared pool. */
function parseSize(text: string): number {
  if (text === 'shared') return 0;
  if (/^\d{1,4}(\.\d{1,3})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new NoCommand(`"${text}" is no size; write a number of CPUs, such as 4 or 1.5, or shared`);
}

function parseCpus(text: string, machine: string): string {
  const cpus = /^[\d,-]+$/.test(text) && text !== '' ? readList(text) : undefined;
  if (cpus && !cpus.isEmpty && cpus.isSubsetOf(parseCpuList(machine))) return cpus.toString();
  throw new NoCommand(`"${text}" is no list of CPUs of this machine; write one within ${machine}, such as 0 or 0-1`);
}

function readList(text: string): ReturnType<typeof parseCpuList> | undefined {
  try {
    return parseCpuList(text);
  } catch {
    return undefined;
  }
}

function parseCount(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) > 0) return Number(text);
  throw new NoCommand(`"${text}" is no number of lines`);
}

function formatLog({ daemon }: PlayedNode, count: number): string {
  const lines = daemon.log.slice(-count).map(({ time: _time, pid: _pid, hostname: _host, ...line }) => {
    const { level, msg, ...facts } = line;
    const shown = Object.keys(facts).length === 0 ? '' : ` ${JSON.stringify(facts)}`;
    return `${String(level)} ${msg}${shown}`;
  });
  return lines.join('\n');
}
