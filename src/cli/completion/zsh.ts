import { listCommands, type CommandNode, type OperandNode, type OptionNode } from '../help/command-tree';

/** A completion script for zsh, to be a file `_cpusetd` in its `fpath`. It has a function for each command. */
export function completeZsh(program: CommandNode): string {
  return `#compdef cpusetd
# zsh completion of cpusetd: cpusetd completion zsh > "\${fpath[1]}/_cpusetd"
${listCommands(program).map(functionOf).join('\n')}
_cpusetd "$@"
`;
}

function functionOf(node: CommandNode): string {
  const { options, operands, subcommands } = node;
  const specs = [...options.flatMap(specsOf), ...operands.map(operandSpec)];
  if (subcommands.length === 0)
    return `${nameOf(node)}() {\n  _arguments -s \\\n${specs.map((spec) => `    ${spec}`).join(' \\\n')}\n}`;
  const list = subcommands.map((sub) => `    ${quote(`${sub.path.at(-1)!}:${escape(firstOf(sub.description))}`)}`);
  const cases = subcommands.map((sub) => `        ${sub.path.at(-1)!}) ${nameOf(sub)} ;;`);
  return `${nameOf(node)}() {
  local context state line
  local -a commands
  commands=(
${list.join('\n')}
  )
  _arguments -C -s \\
${specs.map((spec) => `    ${spec} \\`).join('\n')}
    '1: :->command' '*:: :->rest'
  case $state in
    command) _describe command commands ;;
    rest)
      case $line[1] in
${cases.join('\n')}
      esac ;;
  esac
}`;
}

function specsOf({ short, long, description, value }: OptionNode): readonly string[] {
  const action = value ? `:${escape(value.shown.slice(1, -1))}:${actionOf(value.words, value.isFile)}` : '';
  const spec = `[${escape(firstOf(description))}]${action}`;
  if (short === undefined) return [quote(`${long}${spec}`)];
  return [`${quote(`(${short} ${long})`)}{${short},${long}}${quote(spec)}`];
}

function operandSpec({ shown, words, isFile }: OperandNode): string {
  const optional = shown.startsWith('[') ? ':' : '';
  return quote(`:${optional}${escape(shown.slice(1, -1))}:${actionOf(words, isFile)}`);
}

function actionOf(words: readonly string[], isFile: boolean): string {
  if (words.length > 0) return `(${words.join(' ')})`;
  return isFile ? '_files' : ' ';
}

function nameOf({ path }: CommandNode): string {
  return ['_cpusetd', ...path].join('_').replaceAll('-', '_');
}

/** The words that fit into a list. */
function firstOf(description: string): string {
  return description.split(/[;:(]/, 1)[0]!.trim();
}

/** Characters that mean something in a spec of `_arguments`. */
function escape(text: string): string {
  return text.replace(/[[\]:\\]/g, '\\$&');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
