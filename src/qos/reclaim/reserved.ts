import { showText } from '../../core/show-text';

/** Shares of what is allocatable that are never lent, in per cent. */
export interface ReservedShares {
  readonly cpuPercent: number;
  readonly memoryPercent: number;
}

export interface ReservedShare {
  readonly percent: number;
  /** Says who set it; a clause for the operator. */
  readonly because: string;
}

export type ParsedReserved =
  | { readonly ok: true; readonly value: ReservedShares }
  /** `problem` goes on from the quoted text, `remedy` says what to write instead. */
  | { readonly ok: false; readonly problem: string; readonly remedy: string };

/** The annotations of a Node that stand above the option. */
export const RESERVE_ANNOTATIONS = {
  cpu: 'reserve.node.gocrane.io/cpu',
  memory: 'reserve.node.gocrane.io/memory',
} as const;

const REMEDY = 'write shares from 0% to 100% like cpu=40%,memory=40%';

/** Reads the text of the option, `cpu=40%,memory=40%`; a resource that is not named reserves nothing. */
export function parseReserved(text: string): ParsedReserved {
  const shares = new Map<string, number>();
  for (const part of text === '' ? [] : text.split(',')) {
    const [, name = '', share = ''] = /^\s*(cpu|memory)\s*=\s*(\S+)\s*$/.exec(part) ?? [];
    const percent = parsePercent(share);
    if (percent === undefined)
      return { ok: false, problem: `has a part that is no share (${showText(part.trim(), 100)})`, remedy: REMEDY };
    if (shares.has(name)) return { ok: false, problem: `sets ${name} twice`, remedy: 'set it once' };
    shares.set(name, percent);
  }
  return { ok: true, value: { cpuPercent: shares.get('cpu') ?? 0, memoryPercent: shares.get('memory') ?? 0 } };
}

/** The share of one resource: by the Node's annotation, else by the option. */
export function reservedShareOf(
  resource: 'cpu' | 'memory',
  option: ReservedShares,
  annotations: Readonly<Record<string, string>>,
): ReservedShare {
  const percent = resource === 'cpu' ? option.cpuPercent : option.memoryPercent;
  const name = RESERVE_ANNOTATIONS[resource];
  const text = Object.hasOwn(annotations, name) ? annotations[name] : undefined;
  if (text === undefined) return { percent, because: 'by the option node-resource-reserved' };
  const annotated = parsePercent(text.trim());
  if (annotated !== undefined) return { percent: annotated, because: `by the annotation ${name}` };
  const wrong = `the annotation ${name} is "${showText(text, 100)}", which is no share from 0% to 100%`;
  return { percent, because: `by the option node-resource-reserved, since ${wrong}` };
}

function parsePercent(text: string): number | undefined {
  if (!/^\d{1,3}(?:\.\d{1,6})?%$/.test(text)) return undefined;
  const percent = Number(text.slice(0, -1));
  return percent <= 100 ? percent : undefined;
}
