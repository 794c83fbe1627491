import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import { parseCpuList } from '../../core/cpuset';
import type { ExplainQuery, Explanation } from '../status';
import { decodeIdle, encodeIdle } from './assignment';
import { decodeContainer, encodeContainer } from './container';
import { decodeStep, encodeStep } from './values';

/** Undefined when neither a pod nor a number of CPUs was asked for. */
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
  });
}

export function decodeExplanation({ whatIf, containers, idle }: pb.ExplainResponse): Explanation {
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
  };
}
