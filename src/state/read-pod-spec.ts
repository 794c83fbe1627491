import type { ContainerSpec, PodSpec, SpecResources } from '../core/model/pod-spec';
import { Fields, ShapeError } from './fields';

/** One entry of `pods` as a pod's spec; undefined for what is none. It is knowledge, not a promise: without it the runtime tells. */
export function readPodSpec(entry: unknown): PodSpec | undefined {
  try {
    return toPodSpec(new Fields(entry, 'the entry'));
  } catch (error) {
    if (error instanceof ShapeError) return undefined;
    throw error;
  }
}

function toPodSpec(fields: Fields): PodSpec {
  const qos = fields.text('qos');
  if (qos !== 'Guaranteed' && qos !== 'Burstable' && qos !== 'BestEffort') throw new ShapeError('"qos" is no class');
  return {
    uid: fields.text('uid'),
    namespace: fields.text('namespace'),
    name: fields.text('name'),
    qos,
    finished: fields.flag('finished'),
    containers: fields.list('containers').map((one) => toContainerSpec(new Fields(one, 'the container'))),
    ...(fields.has('podResources') && { podResources: toResources(fields.fields('podResources')) }),
    annotations: fields.fields('annotations').allTexts(),
  };
}

function toContainerSpec(fields: Fields): ContainerSpec {
  const kind = fields.text('kind');
  if (kind !== 'init' && kind !== 'sidecar' && kind !== 'app') throw new ShapeError('"kind" is none of a container');
  return { name: fields.text('name'), kind, ended: fields.flag('ended'), ...toResources(fields) };
}

const AMOUNTS = ['requestMilliCpu', 'limitMilliCpu', 'requestMemoryBytes', 'limitMemoryBytes'] as const;

function toResources(fields: Fields): SpecResources {
  return Object.fromEntries(AMOUNTS.flatMap((name) => (fields.has(name) ? [[name, fields.count(name)] as const] : [])));
}
