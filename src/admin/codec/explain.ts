import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import { parseCpuList } from '../../core/cpuset';
import type { ExplainQuery, Explanation, RefusedContainer } from '../model/explanation';
import { decodeIdle, encodeIdle } from './assignment';
import { decodeContainer, encodeContainer } from './container';
import { ASKED, decodeStep, decodeTime, encodeStep, encodeTime, keyOfValue } from './values';

/** Undefined when the request has neither a pod nor a number of CPUs. */
export function decodeExplainQuery(request: pb.ExplainRequest): ExplainQuery | undefined {
  const { pod, cpus } = request;
  if (pod) return { kind: 'pod', namespace: pod.namespace, pod: pod.name, container: pod.container };
  return cpus === undefined ? undefined : { kind: 'cpus', count: cpus };
}

export function encodeExplainQuery(query: ExplainQuery): pb.ExplainRequest {
  if (query.kind === 'cpus') return pb.ExplainRequest.create({ cpus: query.count });
  const { namespace, pod, container } = query;
  return pb.ExplainRequest.create({ pod: { namespace, name: pod, container } });
}

export function encodeExplanation(explanation: Explanation): pb.ExplainResponse {
  if (explanation.kind === 'what-if') {
    const { fits, cpus, because, steps } = explanation;
    return pb.ExplainResponse.create({
      whatIf: { fits, cpus: cpus.toString(), because, steps: steps.map(encodeStep) },
    });
  }
  return pb.ExplainResponse.create({
    containers: explanation.containers.map(({ container, steps }) => ({
      container: encodeContainer(container),
      steps: steps.map(encodeStep),
    })),
    idle: explanation.idle.map(encodeIdle),
    refused: explanation.refused.map(encodeRefused),
    others: explanation.others.map(({ cpus, ...other }) => ({ ...other, cpus: cpus.toString() })),
  });
}

export function decodeExplanation({ whatIf, containers, idle, refused, others }: pb.ExplainResponse): Explanation {
  if (whatIf) {
    const { fits, cpus, because, steps } = whatIf;
    return { kind: 'what-if', fits, cpus: parseCpuList(cpus), because, steps: steps.map(decodeStep) };
  }
  return {
    kind: 'containers',
    containers: containers.map(({ container, steps }) => ({
      container: decodeContainer(container ?? pb.ContainerStatus.create()),
      steps: steps.map(decodeStep),
    })),
    idle: idle.map(decodeIdle),
    refused: refused.map(decodeRefused),
    others: others.map(({ podUid, running, cpus }) => ({ podUid, running, cpus: parseCpuList(cpus) })),
  };
}

function encodeRefused({ asked, firstAt, lastAt, zones, ...rest }: RefusedContainer): pb.RefusedContainer {
  return pb.RefusedContainer.create({
    ...rest,
    asked: ASKED[asked],
    firstAt: encodeTime(firstAt),
    lastAt: encodeTime(lastAt),
    zones: zones.map(({ node, ...amounts }) => ({ numaNode: node, ...amounts })),
  });
}

function decodeRefused(refused: pb.RefusedContainer): RefusedContainer {
  return {
    podUid: refused.podUid,
    namespace: refused.namespace,
    pod: refused.pod,
    container: refused.container,
    asked: keyOfValue(ASKED, refused.asked) ?? 'unknown',
    requested: refused.requested,
    policy: refused.policy,
    ...(refused.chosenBy && { chosenBy: refused.chosenBy }),
    code: refused.code,
    because: refused.because,
    firstAt: decodeTime(refused.firstAt),
    lastAt: decodeTime(refused.lastAt),
    times: refused.times,
    zones: refused.zones.map(({ numaNode, allocatable, free, freeNow, podsNow }) => ({
      node: numaNode,
      allocatable,
      free,
      freeNow,
      podsNow,
    })),
    now: refused.now,
    fitsNow: refused.fitsNow,
    remedy: refused.remedy,
  };
}
