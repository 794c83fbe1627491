import { setTimeout as delay } from 'node:timers/promises';
import type { Status } from '../../admin/model/status';
import { escapeJson } from '../../core/show-text';
import { write, type CliContext } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { keepWatching } from '../format/keep-watching';
import { Screen } from '../format/screen';
import { terminalOf } from '../format/terminal';
import { formatTop } from './format-top';
import { Keys } from './keys';
import { reorder, sortTop, type Order } from './sort-top';
import type { Top } from './top';

export interface TopWatch {
  readonly adminSocket: string;
  readonly read: (status: Status) => Promise<Top>;
  readonly intervalMs: number;
  /** Number of times that it prints; absent: until the signal or the user ends it. */
  readonly count?: number;
  readonly sort: Order;
  readonly output: 'table' | DataFormat;
}

/** The least pause after a reading, as a multiple of its time: most of the machine is for those who are looked at. */
const PAUSE_FACTOR = 4;

/**
 * Shows the containers at each reading: on a screen with keys where the output is a terminal and no number of times was
 * given, else one text after another.
 */
export async function watchTop(
  watch: TopWatch,
  context: Pick<CliContext, 'stdin' | 'stdout' | 'env' | 'signal'>,
): Promise<void> {
  const { adminSocket, read, intervalMs, count = Infinity, output } = watch;
  const { stdin, stdout } = context;
  const done = new AbortController();
  const signal = AbortSignal.any([context.signal, done.signal]);
  const isPainted = stdout.isTTY === true && output === 'table' && count === Infinity;
  const hasKeys = isPainted && stdin.isTTY === true;
  let order = watch.sort;
  let top: Top | undefined;
  const screen = isPainted
    ? new Screen(stdout, (lines) =>
        Promise.resolve(top ? formatTop(top, { order, terminal: terminalOf(context), lines, hasKeys }) : ''),
      )
    : undefined;
  let keys: Keys | undefined;
  const openKeys = (): Keys =>
    new Keys(stdin, {
      onQuit: () => done.abort(),
      onKey: (key) => {
        order = reorder(order, key);
        screen?.paint().catch(() => undefined); // the next reading fails again
      },
    });
  let printed = 0;
  const print = async (current: Top): Promise<void> => {
    if (current.seconds === undefined) return; // it has no figures yet
    await write(
      stdout,
      await formatFor(current, { order, output, isOne: count === 1, isFirst: printed === 0 }, context),
    );
    printed += 1;
    if (printed >= count) done.abort();
  };
  try {
    await keepWatching({ adminSocket, signal, screen }, async (client) => {
      while (!signal.aborted) {
        const began = performance.now();
        const status = await client.status(signal).catch((error: unknown) => {
          if (!signal.aborted) throw error;
        });
        if (!status) return;
        top = await read(status);
        if (screen && hasKeys) keys ??= openKeys();
        await (screen ? screen.refresh() : print(top));
        const tookMs = performance.now() - began;
        const pauseMs = Math.max(intervalMs - tookMs, PAUSE_FACTOR * top.busyMs);
        await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      }
    });
  } finally {
    keys?.close();
    screen?.close();
  }
}

async function formatFor(
  top: Top,
  { order, output, isOne, isFirst }: { order: Order; output: TopWatch['output']; isOne: boolean; isFirst: boolean },
  context: Pick<CliContext, 'stdout' | 'env'>,
): Promise<string> {
  const sorted = { ...top, containers: sortTop(top.containers, order) };
  if (output === 'json' && !isOne) return `${escapeJson(JSON.stringify(sorted))}\n`;
  if (output !== 'table') return `${output === 'yaml' && !isOne ? '---\n' : ''}${await formatData(sorted, output)}`;
  return `${isFirst ? '' : '\n'}${formatTop(top, { order, terminal: terminalOf(context) })}`;
}
