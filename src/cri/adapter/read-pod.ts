import type { BinaryReader } from '@bufbuild/protobuf/wire';
import type { PodInfo } from '../../core/model/events';
import { readFields } from './fields';
import { readResources, toCpuResources, type Resources } from './read-resources';

/** A `PodSandboxConfig` as far as it has come. */
export class PodConfig {
  /** False for a pod of another operating system. */
  isLinux = false;
  private uid = '';
  private namespace = '';
  private name = '';
  private cgroupParent = '';
  private readonly annotations: Record<string, string> = Object.create(null) as Record<string, string>;
  private readonly resources: Resources = {};

  read(source: BinaryReader): void {
    readFields(source, {
      1: (reader) =>
        readFields(reader, {
          1: (metadata) => (this.name = metadata.string()),
          2: (metadata) => (this.uid = metadata.string()),
          3: (metadata) => (this.namespace = metadata.string()),
        }),
      7: (reader) => this.readAnnotation(reader),
      8: (reader) => {
        this.isLinux = true;
        readFields(reader, {
          1: (linux) => (this.cgroupParent = linux.string()),
          5: (linux) => readResources(linux, this.resources),
        });
      },
    });
  }

  toPodInfo(sandboxId: string): PodInfo {
    const { uid, namespace, name, annotations, cgroupParent } = this;
    const podResources = toCpuResources(this.resources);
    const hasSums = Object.keys(podResources).length > 0;
    return { sandboxId, uid, namespace, name, annotations, cgroupParent, ...(hasSums && { podResources }) };
  }

  private readAnnotation(source: BinaryReader): void {
    let key = '';
    let value = '';
    readFields(source, { 1: (reader) => (key = reader.string()), 2: (reader) => (value = reader.string()) });
    this.annotations[key] = value;
  }
}
