import { sum } from '../../core/sum';
import type { QosPod } from '../objects/objects';
import { showBytes, showCpus, type Lendable, type Reasons } from './lendable';
import { shouldPublish, toPublished, type PublishedResources } from './should-publish';

/**
 * Sums what pods that have not ended hold of `gocrane.io/cpu`, rounded up to whole CPUs, and of `gocrane.io/memory`.
 * Those that the kubelet has not taken yet hold no more than is lent beside the others: it refuses a pod that requests
 * more, and nobody is lent more by asking for it.
 */
export function heldBy(pods: readonly QosPod[], lent: PublishedResources): Required<PublishedResources> {
  const holders = pods.filter(({ phase }) => phase !== 'Succeeded' && phase !== 'Failed');
  const taken = holders.filter(({ awaitsKubelet }) => !awaitsKubelet);
  const waiting = holders.filter(({ awaitsKubelet }) => awaitsKubelet);
  const sumOf = (amountOf: (pod: QosPod) => number, ofNode = 0): number => {
    const held = sum(taken.map(amountOf));
    return Math.min(held + Math.min(sum(waiting.map(amountOf)), Math.max(0, ofNode - held)), Number.MAX_SAFE_INTEGER);
  };
  const milliCpu = sumOf(({ heldMilliCpu = 0 }) => heldMilliCpu, lent.milliCpu);
  return {
    milliCpu: Math.min(Math.ceil(milliCpu / 1000) * 1000, MOST_MILLI_CPU),
    memoryBytes: sumOf(({ heldMemoryBytes = 0 }) => heldMemoryBytes, lent.memoryBytes),
  };
}

/** The most whole CPUs whose thousandths are an exact number. */
const MOST_MILLI_CPU = Math.floor(Number.MAX_SAFE_INTEGER / 1000) * 1000;

export interface PublishInput {
  readonly lendable: Lendable;
  readonly published: PublishedResources;
  /** Absent amounts = the pods are not known yet. */
  readonly held: PublishedResources;
  /** Only a measurement lets an amount grow; up to what is held it grows at once. */
  readonly mayGrow: boolean;
}

export interface PublishPlan {
  /** Absent = not on the Node. */
  readonly wanted: PublishedResources;
  /** The reasons of what is decided. */
  readonly cpu?: Reasons;
  readonly memory?: Reasons;
}

/**
 * The amounts that are right on the Node: what can be lent, but never less than pods hold. A kubelet that starts ends
 * pods that hold more than its Node has; with all of it held, the scheduler sends no new pod. As long as the pods are
 * not known nothing is lowered, and what is not on the Node is not put there: a kubelet ends no pod because of a
 * resource that its Node does not have.
 */
export function planPublish({ lendable, published, held, mayGrow }: PublishInput): PublishPlan {
  const next = toPublished(lendable);
  const cpu = planAmount({
    published: published.milliCpu,
    next: next.milliCpu,
    held: held.milliCpu,
    mayGrow,
    reasons: lendable.cpu,
    show: showCpus,
  });
  const memory = planAmount({
    published: published.memoryBytes,
    next: next.memoryBytes,
    held: held.memoryBytes,
    mayGrow,
    reasons: lendable.memory,
    show: showBytes,
  });
  return {
    wanted: {
      ...(cpu.amount !== undefined && { milliCpu: cpu.amount }),
      ...(memory.amount !== undefined && { memoryBytes: memory.amount }),
    },
    ...(cpu.reasons && { cpu: cpu.reasons }),
    ...(memory.reasons && { memory: memory.reasons }),
  };
}

interface AmountInput {
  readonly published: number | undefined;
  /** Undefined = not decided. */
  readonly next: number | undefined;
  readonly held: number | undefined;
  readonly mayGrow: boolean;
  readonly reasons: Reasons | undefined;
  readonly show: (amount: number) => string;
}

function planAmount(input: AmountInput): { readonly amount: number | undefined; readonly reasons?: Reasons } {
  const { published, next, held, reasons, show } = input;
  if (next === undefined) {
    const isTooLittle = published !== undefined && held !== undefined && published < held;
    return { amount: isTooLittle ? held : published };
  }
  const amount = amountOf(published, next, held, input.mayGrow);
  const addition = explain(amount, next, held, show);
  if (!reasons) return { amount };
  if (addition === '') return { amount, reasons };
  const [because, lasting] = [reasons.because, reasons.lasting].map((text) => `${text}; ${addition}`) as [
    string,
    string,
  ];
  return { amount, reasons: { because, lasting } };
}

function amountOf(
  published: number | undefined,
  next: number,
  held: number | undefined,
  mayGrow: boolean,
): number | undefined {
  if (held === undefined && published === undefined) return undefined;
  const right = Math.max(next, held ?? published ?? 0);
  const { kind } = shouldPublish(published, right);
  if (kind === 'new' || kind === 'shrink' || (kind === 'grow' && mayGrow)) return right;
  return Math.max(published ?? 0, held ?? 0);
}

function explain(
  amount: number | undefined,
  next: number,
  held: number | undefined,
  show: (amount: number) => string,
): string {
  if (amount === undefined) return 'nothing is published before the pods of this node are known';
  if (amount <= next) return '';
  return held === undefined
    ? `${show(amount)} stays published until the pods of this node are known`
    : `${show(amount)} is published, since pods hold it`;
}
