import type { Command, Option } from 'commander';

/** A command as completion and the man page need it. */
export interface CommandNode {
  /** Its words after `cpusetd`; none for the program itself. */
  readonly path: readonly string[];
  readonly description: string;
  readonly options: readonly OptionNode[];
  readonly operands: readonly OperandNode[];
  readonly subcommands: readonly CommandNode[];
}

export interface OptionNode {
  readonly short?: string;
  readonly long: string;
  readonly description: string;
  /** Absent for a switch. */
  readonly value?: ValueNode;
  readonly default?: string;
  readonly variable?: string;
}

export interface ValueNode {
  /** As in the help: `<format>`. */
  readonly shown: string;
  /** The words that may stand there; there may be others. */
  readonly words: readonly string[];
  readonly isFile: boolean;
}

export interface OperandNode {
  /** As in the help: `[pod]`. */
  readonly shown: string;
  readonly description: string;
  readonly words: readonly string[];
  readonly isFile: boolean;
}

/** Parts of a placeholder that stand for a value, and are none themselves: `path|off`. */
const TYPES =
  /^(?:path|file|socket|fd:n|host:port|duration|size|cpus|policies|quantity|url|n|nn|name|zone|k=v,\.\.\.)$/;

/** Describes a command and all below it, from the definitions that its help is made of. */
export function describeCommand(command: Command, path: readonly string[] = []): CommandNode {
  return {
    path,
    description: command.description(),
    options: command.createHelp().visibleOptions(command).flatMap(describeOption),
    operands: command.registeredArguments.map((argument) => ({
      shown: argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
      description: argument.description,
      words: argument.argChoices ?? [],
      isFile: argument.name() === 'file',
    })),
    subcommands: command.commands.map((sub) => describeCommand(sub, [...path, sub.name()])),
  };
}

function describeOption(option: Option): readonly OptionNode[] {
  const { long, short, description, flags, argChoices, envVar } = option;
  const fallback: unknown = option.defaultValue;
  if (long === undefined) return [];
  const [, shown] = / ([<[].*[>\]])$/.exec(flags) ?? [];
  const parts = shown?.slice(1, -1).split('|') ?? [];
  const isFile = parts.some((part) => /^(?:path|file|socket)$/.test(part));
  const words = argChoices ?? (parts.length > 1 ? parts.filter((part) => !TYPES.test(part)) : []);
  return [
    {
      ...(short !== undefined && { short }),
      long,
      description,
      ...(shown !== undefined && { value: { shown, words, isFile } }),
      ...(typeof fallback === 'string' && { default: fallback }),
      ...(envVar !== undefined && { variable: envVar }),
    },
  ];
}

/** The command and all below it, each before those below it. */
export function listCommands(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.subcommands.flatMap(listCommands)];
}
