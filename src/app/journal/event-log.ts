import type { Level, Logger } from 'pino';
import type { DomainEvent } from '../../core/transition';
import type { PodEventMessage } from '../../kube';

type EventOf<K extends DomainEvent['kind']> = Extract<DomainEvent, { readonly kind: K }>;

/** The reasons of the Events on pods. The words are fixed: users filter and count by them. */
export const POD_EVENT_REASONS = [
  'CpusRefused',
  'CpusetDrifted',
  'CpusetRepaired',
  'CpuPolicySwitched',
  'CpuPolicyNotSwitched',
] as const;

/** Type and reason of an Event on a pod. */
export interface PodEventHead extends Pick<PodEventMessage, 'type'> {
  readonly reason: (typeof POD_EVENT_REASONS)[number];
}

/** The log line of one kind of event has a constant message, and facts as fields. */
interface Entry<E> {
  readonly level: Level | ((event: E) => Level);
  readonly message: string;
  readonly fields: (event: E) => object;
  /** The Event on the pod, for kinds that concern its owner. Its text is the event's `because`. */
  readonly podEvent?: PodEventHead;
}

const withCpus = ({ subject, cpus, because }: EventOf<'shares' | 'planned' | 'idle'>): object => ({
  ...subject,
  cpus,
  because,
});
const withPolicy = ({ subject, policy, cpus, because }: EventOf<'pinned' | 'switched'>): object => ({
  ...subject,
  policy,
  cpus,
  because,
});
const reasonOnly = ({ subject, because }: EventOf<'not-switched' | 'container-gone'>): object => ({
  ...subject,
  because,
});
const warnUnlessExpected = ({ isExpected }: EventOf<'shares'>): Level => (isExpected ? 'debug' : 'warn');

/**
 * Maps each kind of event to its log line and its Event on the pod. The compiler wants an entry for every kind. Metrics
 * are not here: they count transactions (`transaction-metrics.ts`), since a try again is an event and is not a request.
 */
const ENTRIES: { readonly [K in DomainEvent['kind']]: Entry<EventOf<K>> } = {
  pinned: { level: 'info', message: 'pinned', fields: withPolicy },
  switched: {
    level: 'info',
    message: 'switched',
    fields: withPolicy,
    podEvent: { type: 'Normal', reason: 'CpuPolicySwitched' },
  },
  'not-switched': {
    level: 'warn',
    message: 'not switched',
    fields: reasonOnly,
    podEvent: { type: 'Warning', reason: 'CpuPolicyNotSwitched' },
  },
  shares: { level: warnUnlessExpected, message: 'shares', fields: withCpus },
  'left-alone': { level: warnUnlessExpected, message: 'left alone', fields: withCpus },
  'annotation-ignored': {
    level: 'warn',
    message: 'annotation ignored',
    fields: ({ subject, annotation, because }) => ({ ...subject, annotation, because }),
  },
  planned: { level: ({ atCreation }) => (atCreation ? 'debug' : 'info'), message: 'planned', fields: withCpus },
  released: { level: 'info', message: 'released', fields: withCpus },
  idle: { level: 'info', message: 'idle', fields: withCpus },
  restored: { level: 'info', message: 'restored', fields: withCpus },
  'found-unpinned': {
    level: 'warn',
    message: 'found unpinned',
    fields: ({ subject, placement, because }) => ({ ...subject, placement, because }),
  },
  'container-gone': { level: 'info', message: 'container gone', fields: reasonOnly },
  drifted: {
    level: 'warn',
    message: 'drifted',
    fields: ({ subject, promised, found, cause, because }) => ({ ...subject, promised, found, cause, because }),
    podEvent: { type: 'Warning', reason: 'CpusetDrifted' },
  },
  refused: {
    level: 'warn',
    message: 'refused',
    fields: ({ subject, code, because, problem }) => ({ ...subject, code, because, problem }),
    podEvent: { type: 'Warning', reason: 'CpusRefused' },
  },
  'online-cpus-changed': {
    level: 'warn',
    message: 'online CPUs changed',
    fields: ({ online, left, returned }) => ({ online, left, returned }),
  },
  'cpu-bound-changed': {
    level: 'warn',
    message: 'usable CPUs changed',
    fields: ({ usable, left, returned, because }) => ({ usable, left, returned, because }),
  },
  'settings-changed': { level: 'info', message: 'settings changed', fields: ({ changes }) => ({ changes }) },
};

/** The entry of an event's kind takes events of that kind, which the compiler cannot follow. */
function entryOf(event: DomainEvent): Entry<DomainEvent> {
  return ENTRIES[event.kind] as Entry<DomainEvent>;
}

/** Writes a line for each event. It runs after the answer was sent. */
export function logEvents(log: Logger, events: readonly DomainEvent[]): void {
  for (const event of events) {
    const { level, message } = entryOf(event);
    log[typeof level === 'function' ? level(event) : level](factsOf(event), message);
  }
}

/** The facts of an event, as its log line and the journal have them. CPU sets become texts there. */
export function factsOf(event: DomainEvent): object {
  return entryOf(event).fields(event);
}

/** Type and reason of the Event on the pod; undefined for events that concern only the operator of the node. */
export function podEventOf(event: DomainEvent): Entry<DomainEvent>['podEvent'] {
  return entryOf(event).podEvent;
}
