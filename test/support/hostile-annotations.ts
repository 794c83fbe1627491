import { BinaryWriter } from '@bufbuild/protobuf/wire';

/** The API server's limit for all annotations of one object, names and values together. */
const MOST_BYTES = 256 * 1024;

export const HOSTILE_RESULT = 'topology.crane.io/topology-result';

/** Annotations at the API server's limit: as many as possible, with the shortest possible names. */
export function manyAnnotations(): Record<string, string> {
  const all: Record<string, string> = {};
  for (let i = 0, bytes = 0; bytes + 4 <= MOST_BYTES; i++, bytes += 4) all[i.toString(36).padStart(4, 'a')] = '';
  return all;
}

/**
 * Annotations at the limit that cpusetd has to read: policies for containers, and the longest scheduler result that it
 * reads.
 */
export function costlyAnnotations(containerNames: readonly string[]): Record<string, string> {
  const zones = Array.from({ length: 230 }, (_, i) => {
    return { name: `node${i}`, type: 'Node', resources: { capacity: { cpu: 1 } } };
  });
  const all: Record<string, string> = {
    [HOSTILE_RESULT]: JSON.stringify(zones).slice(0, 16 * 1024),
    'kubernetes.io/config.hash': 'x'.repeat(64 * 1024),
    'topology.crane.io/exclude-reserved-cpus': 'true',
  };
  let bytes = Object.entries(all).join('').length;
  for (const name of containerNames) {
    const choice = `cpu-policy.topology.crane.io/container.${name}`;
    bytes += choice.length + 4;
    if (bytes > MOST_BYTES) break;
    all[choice] = 'numa';
  }
  all['note'] = 'x'.repeat(Math.max(0, MOST_BYTES - bytes - 4));
  return all;
}

/** A CreateContainer request of NRI for a container of a pod with these annotations. */
export function encodeCreation(
  { uid, name, sandboxId }: { readonly uid: string; readonly name: string; readonly sandboxId: string },
  annotations: Readonly<Record<string, string>>,
): Uint8Array {
  const writer = new BinaryWriter();
  const pod = writer.uint32(10).fork();
  pod.uint32(10).string(sandboxId).uint32(18).string(name).uint32(26).string(uid).uint32(34).string('ns');
  for (const [key, value] of Object.entries(annotations))
    pod.uint32(50).fork().uint32(10).string(key).uint32(18).string(value).join();
  pod.join();
  writer.uint32(18).fork().uint32(10).string('c1').uint32(18).string(sandboxId).uint32(26).string('app').join();
  return writer.finish();
}
