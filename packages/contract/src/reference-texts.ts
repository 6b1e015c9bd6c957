/** Plain text for agents that set up agents, generated from the tables that the service itself uses. */
import type { TSchema } from 'typebox';
import { adapterConfigs } from './adapter-config.ts';
import { agentIcons } from './agent-icons.ts';
import { type AdapterType, adapterTypes, agentRoles, CreateAgent } from './agents.ts';

interface Property {
  type?: string;
  enum?: readonly string[];
  anyOf?: readonly Property[];
  items?: Property;
  description?: string;
  minimum?: number;
  maximum?: number;
}

export function agentConfigurationText(): string {
  return [
    '# Agent configuration',
    '',
    'POST /api/companies/{companyId}/agents and PATCH /api/agents/{agentId} take these fields:',
    '',
    ...fieldLines(CreateAgent),
    '',
    `Roles: ${agentRoles.join(', ')}.`,
    '',
    'A string "${secret:NAME}" in adapter_config is replaced by the company’s secret of that name when it is used.',
    '',
    '## Adapter types',
    '',
    ...adapterTypes.map((type) => `- ${type}: ${adapterConfigs[type].doc}`),
    '',
    'Their adapter_config: /llms/agent-configuration/{adapterType}.txt',
    '',
  ].join('\n');
}

export function adapterConfigurationText(type: AdapterType): string {
  const { doc, schema, example } = adapterConfigs[type];
  return [
    `# adapter_config of ${type}`,
    '',
    doc,
    '',
    ...fieldLines(schema),
    '',
    'Example:',
    '',
    JSON.stringify({ adapter_type: type, adapter_config: example }, null, 2),
    '',
  ].join('\n');
}

export function agentIconsText(): string {
  return ['# Agent icons', '', ...agentRoles.map((role) => `${role}: ${agentIcons[role]}`), ''].join('\n');
}

function fieldLines(schema: TSchema): string[] {
  const { properties, required = [] } = schema as unknown as {
    properties: Record<string, Property>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const needed = required.includes(name) ? ', required' : '';
    const text = property.description === undefined ? '' : `: ${property.description}`;
    return `- ${name} (${typeText(property)}${needed})${text}`;
  });
}

function typeText(property: Property): string {
  if (property.anyOf) return property.anyOf.map(typeText).join(' or ');
  if (property.enum) return `one of ${property.enum.join(', ')}`;
  if (property.type === 'array') return `array of ${property.items ? typeText(property.items) : 'anything'}`;
  const bounds = [
    property.minimum === undefined ? '' : ` from ${property.minimum}`,
    property.maximum === undefined ? '' : ` to ${property.maximum}`,
  ];
  return `${property.type ?? 'anything'}${bounds.join('')}`;
}
