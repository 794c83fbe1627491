import { listCommands, type CommandNode, type OptionNode } from './command-tree';
import { EXAMPLES } from './examples';

/**
 * The man page cpusetd(8) in the macros of man(7), from the definitions that the help is made of. @param version as in
 * package.json
 */
export function formatManPage(program: CommandNode, version: string): string {
  const commands = listCommands(program).filter(({ subcommands }) => subcommands.length === 0);
  return [
    `.TH CPUSETD 8 "" "cpusetd ${escape(version)}" "System administration"`,
    '.SH NAME',
    `cpusetd \\- ${escape(program.description.replace(/\.$/, '').replace(/^./, (first) => first.toLowerCase()))}`,
    '.SH SYNOPSIS',
    ...commands.flatMap((command, i) => [...(i === 0 ? [] : ['.br']), `.B ${escape(synopsisOf(command))}`]),
    '.SH COMMANDS',
    ...commands.flatMap(describe),
    '.SH EXIT STATUS',
    '0: fine. 1: the answer is no, or it could not be had. 2: wrong usage.',
    '.SH FILES',
    ...definition('/etc/cpusetd.yaml', 'options of the daemon, as the units name it'),
    ...definition('/var/lib/cpusetd', 'the state, and the journal of what has happened'),
    ...definition('/run/cpusetd/cpusetd.sock', "the daemon's admin socket"),
    '',
  ].join('\n');
}

function synopsisOf({ path, operands }: CommandNode): string {
  return ['cpusetd', ...path, '[options]', ...operands.map(({ shown }) => shown)].join(' ');
}

function describe(command: CommandNode): readonly string[] {
  const { path, description, operands, options } = command;
  const examples = EXAMPLES[path.join(' ')] ?? [];
  return [
    `.SS ${escape(synopsisOf(command))}`,
    escape(sentence(description)),
    ...operands.flatMap(({ shown, description: text }) => definition(shown, text)),
    ...options.flatMap(({ short, long, value, ...help }) => {
      const name = [short, long].filter((each) => each !== undefined).join(', ');
      return definition(`${name}${value ? ` ${value.shown}` : ''}`, withDefaults({ long, ...help }));
    }),
    ...(examples.length > 0 ? ['.PP', 'Examples:'] : []),
    ...examples.flatMap(({ line, does }) => definition(line, does)),
  ];
}

function withDefaults({ description, default: value, variable }: OptionNode): string {
  const facts = [
    ...(value === undefined ? [] : [`default ${value}`]),
    ...(variable === undefined ? [] : [`environment ${variable}`]),
  ];
  return facts.length === 0 ? description : `${description} (${facts.join(', ')})`;
}

/** A term in bold, and its text below, indented. */
function definition(term: string, text: string): readonly string[] {
  return ['.TP', `.B ${escape(term)}`, escape(text)];
}

function sentence(text: string): string {
  return `${text.replace(/^./, (first) => first.toUpperCase())}.`;
}

/** Text as roff takes it: `-` is a minus sign as it is typed, and no line begins with a control character. */
function escape(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('"', '\\(dq')
    .replace(
      /[^\p{ASCII}]/gu,
      (character) => `\\[u${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`,
    )
    .replace(/^\./, '\\&.');
}
