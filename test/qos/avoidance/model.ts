import type { QosContainer, QosPod } from '../../../src/qos/objects/objects';
import type {
  AvoidanceOrder,
  AvoidanceSituation,
  ContainerState,
  Throttle,
} from '../../../src/qos/avoidance/situation';

/** The actions of a round, without their reasons. */
export interface ModelPlan {
  /** `namespace/name grace`, in order. */
  readonly evictions: readonly string[];
  /** `id quota`, in order. */
  readonly throttles: readonly string[];
  /** `id quota`, sorted. */
  readonly restores: readonly string[];
  /** Subjects that only a budget spared, sorted. */
  readonly leftOut: readonly string[];
  /** `id original quota causes`, sorted. */
  readonly throttled: readonly string[];
  /** Ids of containers that are left to others, sorted. */
  readonly yielded: readonly string[];
}

/**
 * The rules of src/qos/avoidance/README.md a second time: slow, one step after the other, and without a line of the
 * program. Integers only, so a periodUs is a multiple of 1000.
 */
export function modelPlan(s: AvoidanceSituation): ModelPlan {
  const triggered = s.triggered.filter((o) => !o.isPreview);
  const restored = s.restored.filter((o) => !o.isPreview);
  const evictions: string[] = [];
  const evicted: QosPod[] = [];
  const throttles: string[] = [];
  const restores: string[] = [];
  const leftOut = new Set<string>();
  const lowered: QosPod[] = [];
  const written = new Map<string, number>();
  const throttled: string[] = [];
  let freedCpu = 0;
  let freedMemory = 0;

  const allowed = (pod: QosPod, action: string): boolean =>
    s.podQoses.some((q) => s.podMatches(q, pod) && q.allowedActions.includes(action));
  const containersOf = (pod: QosPod): ContainerState[] =>
    s.containers.filter((c) => c.podUid === pod.uid).sort((a, b) => (a.name < b.name ? -1 : 1));
  const specOf = (c: { podUid: string; name: string }): QosContainer | undefined =>
    s.pods.find((p) => p.uid === c.podUid)?.containers.find((x) => x.name === c.name);

  const usage = (pod: QosPod, what: 'milliCpu' | 'memoryBytes'): number | undefined => {
    let total: number | undefined;
    for (const c of containersOf(pod)) {
      if (c[what] === undefined) return undefined;
      total = (total ?? 0) + c[what];
    }
    return total;
  };

  // The order of pods: the smaller of the first two numbers (or texts) that differ goes first.
  const rank = (pod: QosPod, kind: string): (number | string)[] => {
    const qos = ['BestEffort', 'Burstable', 'Guaranteed'].indexOf(pod.qos);
    const last = [-pod.startedAtMs, pod.namespace, pod.name];
    if (kind !== 'cpu' && kind !== 'memory') return [pod.priority, qos, ...last];
    const used = usage(pod, kind === 'cpu' ? 'milliCpu' : 'memoryBytes') ?? 0;
    let elastic = 0;
    for (const c of pod.containers)
      if (!c.isInit) elastic += (kind === 'cpu' ? c.elasticLimitMilliCpu : c.elasticLimitMemoryBytes) ?? 0;
    return [elastic > 0 ? 0 : 1, pod.priority, qos, -used, elastic > 0 ? used / elastic : 0, ...last];
  };
  const inOrder = (pods: QosPod[], kind: string): QosPod[] => {
    const rest = [...pods];
    const result: QosPod[] = [];
    while (rest.length > 0) {
      let first = rest[0]!;
      for (const pod of rest) {
        const [a, b] = [rank(pod, kind), rank(first, kind)];
        const at = a.findIndex((value, index) => value !== b[index]);
        if (at >= 0 && a[at]! < b[at]!) first = pod;
      }
      result.push(first);
      rest.splice(rest.indexOf(first), 1);
    }
    return result;
  };

  const kindOf = (metric: string): string => /^(cpu|memory)_total_(usage|utilization)$/.exec(metric)?.[1] ?? 'none';
  const current = (metric: string): number | undefined => s.metrics.get(metric)?.[0]?.value;
  const inUnits = (metric: string, value: number): number | undefined => {
    if (metric === 'cpu_total_utilization') return value * s.cores * 10;
    if (metric === 'memory_total_utilization')
      return s.totalMemoryBytes === undefined ? undefined : (value * s.totalMemoryBytes) / 100;
    return value;
  };
  const lowest = (orders: AvoidanceOrder[]): number => {
    let least = Number.MAX_SAFE_INTEGER;
    for (const o of orders) if (o.threshold < least) least = o.threshold;
    return least;
  };
  /** `undefined` = act on all. */
  const above = (metric: string, orders: AvoidanceOrder[]): number | undefined => {
    const used = current(metric);
    if (used === undefined || kindOf(metric) === 'none') return undefined;
    const amount = inUnits(metric, used - lowest(orders));
    return amount === undefined ? undefined : amount * (1 + s.options.excess);
  };
  const metricsIn = (orders: AvoidanceOrder[]): string[] => {
    const all = [
      'cpu_load_1_min',
      'cpu_total_usage',
      'cpu_total_utilization',
      'memory_total_usage',
      'memory_total_utilization',
    ];
    return all.filter((m) => orders.some((o) => o.metric === m));
  };

  // Half of each budget is divided among the namespaces of pods that anything may be done to.
  const tenants = [
    ...new Set(s.pods.filter((p) => ['soft', 'hard', 'out', 'all'].some((a) => allowed(p, a))).map((p) => p.namespace)),
  ];
  const judgeBudget = (what: 'actions' | 'evictions', namespace: string): 'yes' | 'spent' | 'share is spent' => {
    const left = what === 'actions' ? s.options.actionsLeft : s.options.evictionsLeft;
    const now = [...evicted, ...(what === 'actions' ? lowered : [])].map((pod) => pod.namespace);
    if (now.length >= left) return 'spent';
    let whole = left;
    for (const spent of s.options.spentBy.values()) whole += spent[what];
    let kept = 0;
    for (const other of tenants) {
      const spent = (s.options.spentBy.get(other)?.[what] ?? 0) + now.filter((each) => each === other).length;
      if (other !== namespace && 2 * tenants.length * spent < whole) kept += whole - 2 * tenants.length * spent;
    }
    for (; kept >= 2 * tenants.length; kept -= 2 * tenants.length) now.push('');
    return now.length < left ? 'yes' : 'share is spent';
  };

  // Evictions.
  const evicting = triggered.filter((o) => o.action.eviction);
  for (const metric of metricsIn(evicting)) {
    const orders = evicting.filter((o) => o.metric === metric);
    const gap = above(metric, orders);
    let freed = kindOf(metric) === 'cpu' ? freedCpu : freedMemory;
    const what = kindOf(metric) === 'cpu' ? 'milliCpu' : 'memoryBytes';
    for (const pod of s.pods) if (pod.isBeingDeleted) freed += usage(pod, what) ?? 0;
    for (const pod of inOrder(
      s.pods.filter((p) => orders.some((o) => allowed(p, o.action.name))),
      kindOf(metric),
    )) {
      if (gap !== undefined && freed >= gap) break;
      if (evicted.includes(pod)) continue;
      if (pod.isCritical || pod.isStatic || pod.isBeingDeleted || pod.phase === 'Succeeded' || pod.phase === 'Failed')
        continue;
      if (containersOf(pod).some((c) => c.isPinned)) continue;
      const cpu = usage(pod, 'milliCpu');
      const memory = usage(pod, 'memoryBytes');
      const amount = kindOf(metric) === 'cpu' ? cpu : memory;
      if (gap !== undefined && !amount) continue;
      const asEviction = judgeBudget('evictions', pod.namespace);
      const budget = asEviction === 'yes' ? judgeBudget('actions', pod.namespace) : asEviction;
      if (budget !== 'share is spent') freed += amount ?? 0;
      if (budget !== 'yes') {
        leftOut.add(`${pod.namespace}/${pod.name}`);
        continue;
      }
      evicted.push(pod);
      freedCpu += cpu ?? 0;
      freedMemory += memory ?? 0;
      const graces = orders.filter((o) => allowed(pod, o.action.name)).map((o) => o.action.eviction!.graceSeconds);
      const given = graces.filter((g) => g !== undefined).sort((a, b) => a - b);
      evictions.push(`${pod.namespace}/${pod.name} ${given[0] ?? pod.graceSeconds ?? 'none'}`);
    }
  }

  // Our throttles, as the kernel has them.
  const ours = new Map<string, Throttle>();
  const kept: Throttle[] = [];
  const isOn = (rule: string): boolean => s.actingRules.includes(rule) && !s.restored.some((o) => o.rule === rule);
  const theirs = new Map(s.yielded.map(({ id, rules }) => [id, rules]));
  for (const t of s.throttles) {
    const c = s.containers.find((x) => x.id === t.id);
    if (!c || c.isPinned) continue;
    const limit = specOf(c)?.limitMilliCpu;
    const cap = limit ? (limit * t.periodUs) / 1000 : 0;
    const original =
      limit && limit !== t.limitMilliCpu ? (t.originalUs > 0 ? Math.min(t.originalUs, cap) : cap) : t.originalUs;
    const now = { ...t, originalUs: original };
    if (c.quotaUs === undefined || c.periodUs === undefined) {
      kept.push(now);
      continue;
    }
    const yieldIt = (): void =>
      void theirs.set(
        t.id,
        t.causes.map((x) => x.rule),
      );
    if (c.periodUs !== t.periodUs) {
      yieldIt();
      continue;
    }
    const kernel = c.quotaUs <= 0 ? -1 : c.quotaUs;
    const onePercent = t.periodUs / 100;
    const same = (quota: number): boolean =>
      kernel === quota || (quota > 0 && kernel > quota && kernel - quota < onePercent && kernel % onePercent === 0);
    const isOurs = same(t.quotaUs) || same(t.previousUs);
    if (!isOurs) yieldIt();
    if (same(original)) continue;
    if (isOurs) ours.set(t.id, { ...now, quotaUs: kernel });
  }

  // Throttles.
  const lowering = triggered.filter(
    (o) => o.action.throttle && (o.metric === 'cpu_total_usage' || kindOf(o.metric) === 'none'),
  );
  const steps = (orders: AvoidanceOrder[], pod: QosPod): number[] =>
    orders.filter((o) => allowed(pod, o.action.name) && o.action.throttle).map((o) => o.action.throttle!.stepCpuRatio);
  for (const metric of metricsIn(lowering)) {
    const orders = lowering.filter((o) => o.metric === metric);
    const gap = above(metric, orders);
    let freed = freedCpu;
    for (const pod of inOrder(
      s.pods.filter((p) => orders.some((o) => allowed(p, o.action.name))),
      kindOf(metric),
    )) {
      if (evicted.includes(pod)) continue;
      if (pod.isCritical || pod.isStatic || pod.isBeingDeleted || pod.qos === 'Guaranteed') continue;
      if (pod.phase === 'Succeeded' || pod.phase === 'Failed') continue;
      const selecting = lowering.filter((o) => allowed(pod, o.action.name));
      const step = Math.max(...steps(lowering, pod));
      const min = Math.max(...selecting.map((o) => o.action.throttle!.minCpuRatio));
      for (const c of containersOf(pod)) {
        if (gap !== undefined && freed >= gap) break;
        if (c.isPinned || c.quotaUs === undefined || c.periodUs === undefined || written.has(c.id)) continue;
        if (theirs.get(c.id)?.some(isOn)) continue;
        const spec = specOf(c)!;
        const limit = spec.limitMilliCpu ?? 0;
        const mine = ours.get(c.id);
        const base = mine?.baseMilliCpu ?? c.milliCpu;
        const perMilli = c.periodUs / 1000;
        if (gap !== undefined && c.milliCpu === undefined) continue;
        const use = c.milliCpu === undefined ? undefined : c.milliCpu * perMilli;
        const isUseless = use !== undefined && Math.floor((c.quotaUs * (100 - step) + 50) / 100) >= use;
        const from = c.quotaUs <= 0 || isUseless ? use : c.quotaUs;
        if (from === undefined || (limit === 0 && base === undefined)) continue;
        let to = Math.floor((from * (100 - step) + 50) / 100);
        if (to < (spec.requestMilliCpu ?? 0) * perMilli) to = (spec.requestMilliCpu ?? 0) * perMilli;
        if (to * 100 < (limit || base!) * perMilli * min) to = Math.ceil(((limit || base!) * perMilli * min) / 100);
        if (limit === 0 && to < 10 * perMilli) to = 10 * perMilli;
        if (to < 1000) to = 1000;
        if (to >= from || 100 * (from - to) < from || to >= (use ?? to + 1)) continue;
        const released = Math.max(0, (c.milliCpu ?? 0) - to / perMilli);
        const budget = judgeBudget('actions', pod.namespace);
        if (budget !== 'share is spent') freed += released;
        if (budget !== 'yes') {
          leftOut.add(`${pod.namespace}/${pod.name}/${c.name}`);
          continue;
        }
        freedCpu += released;
        lowered.push(pod);
        written.set(c.id, to);
        throttles.push(`${c.id} ${to}`);
        const causes = new Set([...(mine?.causes ?? []).map((x) => x.rule), ...selecting.map((o) => o.rule)]);
        throttled.push(
          `${c.id} ${mine?.originalUs ?? (c.quotaUs > 0 ? c.quotaUs : -1)} ${to} ${[...causes].sort().join()}`,
        );
      }
    }
  }

  // Steps up.
  const used = current('cpu_total_usage');
  const calmOnUsage = restored.filter((o) => o.metric === 'cpu_total_usage');
  let free = used === undefined || calmOnUsage.length === 0 ? undefined : lowest(calmOnUsage) - used;
  const waiting: { t: Throttle; pod: QosPod; orders: AvoidanceOrder[] }[] = [];
  const put = (t: Throttle, to: number): void => {
    written.set(t.id, to);
    restores.push(`${t.id} ${to}`);
    const use = s.containers.find((c) => c.id === t.id)!.milliCpu ?? (t.quotaUs * 1000) / t.periodUs;
    const reach = to === -1 ? s.cores * 1000 : (to * 1000) / t.periodUs;
    if (free !== undefined && reach > use) free -= reach - use;
  };
  const names = (t: Throttle): string => [t.namespace, t.pod, t.container].join('/');
  for (const t of [...ours.values()].sort((a, b) => (names(a) < names(b) ? -1 : 1))) {
    const pod = s.pods.find((p) => p.uid === t.podUid)!;
    if (written.has(t.id) || evicted.includes(pod)) continue;
    const spec = pod.containers.find((c) => c.name === t.container)!;
    const orderOf = (rule: string): AvoidanceOrder | undefined =>
      [...triggered, ...restored].find((o) => o.rule === rule);
    const holding = t.causes.filter(({ rule, action }) => {
      const order = orderOf(rule);
      if (!s.actingRules.includes(rule)) return false;
      return order ? order.action.throttle && allowed(pod, order.action.name) : allowed(pod, action);
    });
    const isWanted = lowering.some((o) => allowed(pod, o.action.name));
    const need = Math.min(((spec.requestMilliCpu ?? 0) * t.periodUs) / 1000, t.originalUs > 0 ? t.originalUs : 1e9);
    if (pod.isBeingDeleted || (holding.length === 0 && !isWanted)) put(t, t.originalUs);
    else if (t.quotaUs < need) put(t, need);
    else if (!isWanted && holding.every(({ rule }) => restored.some((o) => o.rule === rule)))
      waiting.push({ t, pod, orders: restored.filter((o) => holding.some(({ rule }) => rule === o.rule)) });
  }
  const podsBack = inOrder([...new Set(waiting.map(({ pod }) => pod))], 'cpu').reverse();
  for (const pod of podsBack) {
    const own = waiting.filter((w) => w.pod === pod).sort((a, b) => (a.t.container > b.t.container ? -1 : 1));
    for (const { t, orders } of own) {
      if (free !== undefined && free <= 0 && orders.some((o) => o.metric === 'cpu_total_usage')) continue;
      const spec = pod.containers.find((c) => c.name === t.container)!;
      const step = Math.max(1, ...orders.map((o) => o.action.throttle!.stepCpuRatio));
      let to = Math.floor((t.quotaUs * (100 + step) + 50) / 100);
      const need = ((spec.requestMilliCpu ?? 0) * t.periodUs) / 1000;
      if (to < need) to = need;
      if (t.originalUs > 0) to = to > t.originalUs ? t.originalUs : to;
      else {
        const end = spec.limitMilliCpu ?? spec.elasticLimitMilliCpu ?? 0;
        if (end > 0 ? to * 1000 >= end * t.periodUs : to > 60 * t.periodUs) to = -1;
      }
      put(t, to);
    }
  }

  for (const t of [...ours.values(), ...kept]) {
    if (throttled.some((line) => line.startsWith(`${t.id} `))) continue;
    throttled.push(`${t.id} ${t.originalUs} ${written.get(t.id) ?? t.quotaUs} ${t.causes.map((x) => x.rule).join()}`);
  }
  const yielded = [...theirs].filter(([id, rules]) => s.containers.some((c) => c.id === id) && rules.some(isOn));
  return {
    evictions,
    throttles,
    restores: restores.sort(),
    leftOut: [...leftOut].sort(),
    throttled: throttled.sort(),
    yielded: yielded.map(([id]) => id).sort(),
  };
}
