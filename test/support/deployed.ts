import { readFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';

/** A service of a compose file, as far as tests look at it. */
export interface Service {
  readonly build?: string;
  readonly image?: string;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly privileged?: boolean;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly stop_grace_period?: string;
  readonly deploy?: {
    readonly resources?: { readonly limits?: { readonly memory?: string; readonly pids?: number } };
  };
}

/** The services of compose files together, in the way in which `docker compose -f A -f B` puts them together. */
export function servicesOf(...paths: readonly string[]): Record<string, Service> {
  const services: Record<string, Service> = {};
  for (const path of paths) {
    const file = parse(readFileSync(path, 'utf8')) as { services: Record<string, Service> };
    for (const [name, service] of Object.entries(file.services)) {
      const environment = { ...services[name]?.environment, ...service.environment };
      services[name] = { ...services[name], ...service, environment };
    }
  }
  return services;
}

/** The variables of a service, with what `${NAME:-…}` stands for put in, and an address for `${NAME:?…}`. */
export function variablesOf(service: Service | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(service?.environment ?? {}).map(([name, value]) => [
      name,
      value
        .replace(/\$\{\w+:\?[^}]*\}/, 'https://links.example.com')
        .replace(/\$\{\w+:-([^}]*)\}/, '$1'),
    ]),
  );
}

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly periodSeconds?: number;
  readonly failureThreshold?: number;
}

/** A container of a pod. */
interface Container {
  readonly name: string;
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly resources: {
    readonly requests: Readonly<Record<string, string>>;
    readonly limits: Readonly<Record<string, string>>;
  };
  readonly securityContext: unknown;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

/** A document of a Kubernetes manifest. */
export interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: {
    /** Of a Service. */
    readonly ports?: readonly unknown[];
    readonly template?: {
      readonly spec: {
        readonly automountServiceAccountToken: boolean;
        readonly securityContext: unknown;
        readonly containers: readonly Container[];
        readonly volumes: readonly {
          readonly name: string;
          readonly persistentVolumeClaim?: { readonly claimName: string };
        }[];
      };
    };
  };
}

/** The documents of a Kubernetes manifest. */
export function resourcesOf(path: string): Resource[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map(
    (document) => document.toJS() as Resource,
  );
}

/** The variables that a Kubernetes manifest sets. */
export function manifestVariables(manifest: string): Record<string, string> {
  const pairs = manifest.matchAll(/\{ name: ([A-Z_]+), value: "?([^" }]+)"? \}/g);
  return Object.fromEntries([...pairs].map(([, name, value]) => [name, value]));
}
