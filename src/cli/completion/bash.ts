import { listCommands, type CommandNode, type OptionNode } from '../help/command-tree';

/**
 * A completion script for bash, without bash-completion. Words are those of our own definitions, so none needs quoting.
 */
export function completeBash(program: CommandNode): string {
  const commands = listCommands(program);
  const nested = commands.filter(({ path }) => path.length > 0).map(({ path }) => quote(path.join(' ')));
  return `# bash completion of cpusetd: source <(cpusetd completion bash)
_cpusetd() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${command:+$command }$word" in
      ${nested.join(' | ')}) command="\${command:+$command }$word" ;;
    esac
  done
  case "$command $previous" in
${commands.flatMap(({ path, options }) => options.flatMap((option) => caseOfValue(path, option))).join('\n')}
  esac
  case "$command" in
${commands.map(caseOfCommand).join('\n')}
  esac
}
complete -o filenames -F _cpusetd cpusetd
`;
}

function caseOfValue(path: readonly string[], { short, long, value }: OptionNode): readonly string[] {
  if (!value) return [];
  const names = [long, ...(short === undefined ? [] : [short])].map((name) => quote(`${path.join(' ')} ${name}`));
  return [`    ${names.join(' | ')}) ${reply(value.words, value.isFile)}; return ;;`];
}

function caseOfCommand({ path, options, operands, subcommands }: CommandNode): string {
  const words = [
    ...subcommands.map((sub) => sub.path.at(-1)!),
    ...operands.flatMap((operand) => operand.words),
    ...options.map(({ long }) => long),
  ];
  return `    ${quote(path.join(' '))}) ${reply(
    words,
    operands.some(({ isFile }) => isFile),
  )} ;;`;
}

function reply(words: readonly string[], isFile: boolean): string {
  const generators = [`-W '${words.join(' ')}'`, ...(isFile ? ['-f'] : [])];
  return `mapfile -t COMPREPLY < <(compgen ${generators.join(' ')} -- "$current")`;
}

function quote(text: string): string {
  return `'${text}'`;
}
