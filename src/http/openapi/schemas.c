/* schemas.c - JSON Schemas (2020-12) of what no table of members describes, with ' for ". */
#include "http/openapi/parts.h"

#define COUNT "{'type':'integer','minimum':0}"
/* clang-format off */

const char openapi_schemas[] =
"'Aggregate':{'type':'object','additionalProperties':false,'required':['rows','files',"
"'damaged_files','generation','complete'],"
    "'properties':{'rows':{'type':'array','items':{'$ref':'#/components/schemas/Row'}},"
    "'time_interval':{'type':'number'},'files':" COUNT ","
    "'damaged_files':" COUNT ",'scanned':" COUNT ",'skipped':" COUNT ",'generation':" COUNT ","
    "'complete':{'type':'boolean'}}},"
"'Row':{'type':'object','additionalProperties':true,'description':'columns of the row'},"
"'OpenApi':{'type':'object','required':['openapi','info','paths'],"
"'properties':{'openapi':{'const':'3.1.0'},"
    "'info':{'type':'object'},'paths':{'type':'object'}}}";
/* clang-format on */
