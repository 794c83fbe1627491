import { listCommands, type CommandNode, type OptionNode } from '../help/command-tree';

/** A completion script for fish, to be a file `cpusetd.fish` among its completions. */
export function completeFish(program: CommandNode): string {
  const commands = listCommands(program);
  return `# fish completion of cpusetd: cpusetd completion fish > ~/.config/fish/completions/cpusetd.fish
function __cpusetd_is
  set -l command
  for word in (commandline -opc)[2..-1]
    contains -- (string join ' ' $command $word) ${commands
      .filter(({ path }) => path.length > 0)
      .map(({ path }) => quote(path.join(' ')))
      .join(' ')}; and set -a command $word
  end
  test "$command" = "$argv"
end
complete -c cpusetd -f
${commands.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, options, operands, subcommands }: CommandNode): readonly string[] {
  const start = `complete -c cpusetd -n ${quote(path.length === 0 ? '__cpusetd_is' : `__cpusetd_is ${path.join(' ')}`)}`;
  const words = operands.flatMap((operand) => operand.words);
  return [
    ...subcommands.map((sub) => `${start} -a ${sub.path.at(-1)!} -d ${quote(sub.description)}`),
    ...(words.length > 0 ? [`${start} -a ${quote(words.join(' '))}`] : []),
    ...(operands.some(({ isFile }) => isFile) ? [`${start} -F`] : []),
    ...options.map((option) => `${start}${describeOption(option)}`),
  ];
}

function describeOption({ short, long, description, value }: OptionNode): string {
  const name = `${short === undefined ? '' : ` -s ${short.slice(1)}`} -l ${long.slice(2)} -d ${quote(description)}`;
  if (!value) return name;
  const words = value.words.length > 0 ? ` -a ${quote(value.words.join(' '))}` : '';
  return `${name} -r${value.isFile ? ' -F' : ''}${words}`;
}

function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
