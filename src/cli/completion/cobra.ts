import type { CommandNode, OptionNode } from '../help/command-tree';

/** Directives of cobra's protocol: the shell adds its own files, or it does not. */
const [FILES, NO_FILES] = [0, 4];

/** The words that fit at one place of the command line. */
interface Candidates {
  readonly words: readonly Candidate[];
  readonly isFile: boolean;
}

interface Candidate {
  readonly word: string;
  readonly description?: string;
}

/**
 * The answer to a request for completion in cobra's protocol: a line for each candidate, with its description after a
 * tab, and a last line with a directive. kubectl asks its plugins in this way.
 *
 * `words`: those after the name of the program. The last one is to be completed, and may be empty.
 */
export function completeForCobra(program: CommandNode, words: readonly string[]): string {
  const [done, current] = [words.slice(0, -1), words.at(-1) ?? ''];
  const { node, open } = readWords(program, done);
  const [, name, value] = /^(--?[^=]+)=(.*)$/.exec(current) ?? [];
  const named = open ?? (name === undefined ? undefined : findOption(node, name));
  const begin = open ? current : (value ?? current);
  const candidates = named ? valuesOf(named) : value === undefined ? wordsOf(node, current) : NOTHING;
  const lines = candidates.words
    .filter(({ word }) => word.startsWith(begin))
    .map(({ word, description }) => (description ? `${word}\t${description}` : word));
  return [...lines, `:${candidates.isFile ? FILES : NO_FILES}`, ''].join('\n');
}

const NOTHING: Candidates = { words: [], isFile: false };

/** The command that these words name, and the option at their end whose value comes next. */
function readWords(program: CommandNode, words: readonly string[]): { node: CommandNode; open?: OptionNode } {
  let node = program;
  let open: OptionNode | undefined;
  for (const word of words) {
    if (open) open = undefined;
    else if (word.startsWith('-')) open = takesNextWord(findOption(node, word));
    else node = node.subcommands.find(({ path }) => path.at(-1) === word) ?? node;
  }
  return { node, ...(open && { open }) };
}

const findOption = ({ options }: CommandNode, name: string): OptionNode | undefined =>
  options.find(({ long, short }) => name === long || name === short);

/** The option, unless it is a switch or its value is optional. */
const takesNextWord = (option: OptionNode | undefined): OptionNode | undefined =>
  option?.value?.shown.startsWith('<') ? option : undefined;

function valuesOf({ value }: OptionNode): Candidates {
  return { words: (value?.words ?? []).map((word) => ({ word })), isFile: value?.isFile ?? false };
}

function wordsOf({ options, operands, subcommands }: CommandNode, current: string): Candidates {
  if (current.startsWith('-'))
    return { words: options.map(({ long, description }) => ({ word: long, description })), isFile: false };
  return {
    words: [
      ...subcommands.map(({ path, description }) => ({ word: path.at(-1)!, description })),
      ...operands.flatMap((operand) => operand.words).map((word) => ({ word })),
    ],
    isFile: operands.some(({ isFile }) => isFile),
  };
}
