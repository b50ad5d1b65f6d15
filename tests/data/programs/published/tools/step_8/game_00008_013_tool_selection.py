"""Game 13 of rollout 8: Tool Selection."""


import json
import random
from dataclasses import dataclass, asdict



@dataclass
class Device:

    room   : str
    kind   : str
    level  : int = 0

    def describe( self ):
        return f"{self.kind} in the {self.room}: {self.level}"



ROOMS  = [ "attic", "cellar", "hall", "kitchen", "study" ]
STRING = { "type" : "string" }


class HomeControlEnv( ToolUseBaseEnv ):

    def __init__( self, max_turns = 12, **kwargs ):
        super().__init__( max_turns = max_turns )
        self.reset()


    def reset( self, seed = None ):
        super().reset( seed )
        rng = random.Random( seed )
        rooms = rng.sample( ROOMS, 3 )
        devices = [ Device( room, "lamp", rng.randint( 1, 9 ) * 10 + 1 ) for room in rooms ]
        devices.append( Device( rooms[ 0 ], "heater", rng.randint( 15, 24 ) ) )
        self._state = { "devices" : [ asdict( d ) for d in devices ], "declined" : None, "reset_room" : None }
        self.dim, self.warm = rooms[ 1 ], rooms[ 0 ]
        self.degrees = rng.choice( [ t for t in range( 15, 25 ) if t != devices[ 3 ].level ] )

        lamps = { d.room : d.level for d in devices if d.kind == "lamp" }
        wanted = { **lamps, self.dim : 0 }
        degrees = self.degrees
        self._user_messages = [
            f"Turn the lamp in the {self.dim} off, please, and leave the others as they are.",
            f"The {self.warm} should have {degrees} degrees.",
            "Order me a new sofa.",
        ]
        self._message_criteria = [
            lambda state: { d[ "room" ] : d[ "level" ] for d in state[ "devices" ] if d[ "kind" ] == "lamp" } == wanted,
            lambda state: [ d[ "level" ] for d in state[ "devices" ] if d[ "kind" ] == "heater" ] == [ degrees ],
            lambda state: bool( state[ "declined" ] ),
        ]
        self._tools = {
            "list_devices" : { "description" : "Everything that can be switched.", "parameters" : { "type" : "object", "properties" : {} } },
            "set_lamp"     : { "description" : "Brightness of a lamp, 0 to 100.", "parameters" : { "type" : "object", "properties" : { "room" : { "type" : "string", "enum" : ROOMS }, "level" : { "type" : "integer" } }, "required" : [ "room", "level" ] } },
            "set_heater"   : { "description" : "Degrees of a heater, 10 to 30.", "parameters" : { "type" : "object", "properties" : { "room" : { "type" : "string", "enum" : ROOMS }, "degrees" : { "type" : "integer" } }, "required" : [ "room", "degrees" ] } },
            "decline_request" : { "description" : "Say that a request is out of reach.", "parameters" : { "type" : "object", "properties" : { "reason" : STRING }, "required" : [ "reason" ] } },
        }
        return self._user_messages[ 0 ], {}


    def _advance_if_done( self ):
        if self._current_msg < len( self._message_criteria ) and self._message_criteria[ self._current_msg ]( self._state ):
            self._current_msg += 1
            if self._current_msg == len( self._message_criteria ):
                return "\n[ALL STEPS COMPLETE] Answer with <answer>done</answer>."
            return "\n[NEW STEP] " + self._user_messages[ self._current_msg ]
        return ""

    def _find( self, kind, room ):
        return next( ( d for d in self._state[ "devices" ] if d[ "kind" ] == kind and d[ "room" ] == room ), None )

    def tool_list_devices( self ):
        return json.dumps( [ Device( **d ).describe() for d in self._state[ "devices" ] ] ) + self._advance_if_done()

    def tool_set_lamp( self, room, level ):
        lamp = self._find( "lamp", room )
        if lamp is None or type( level ) is not int or not 0 <= level <= 100:
            return "There is no such lamp or level." + self._advance_if_done()
        lamp[ "level" ] = level
        return f"The lamp in the {room} is at {level}." + self._advance_if_done()

    def tool_set_heater( self, room, degrees ):
        heater = self._find( "heater", room )
        if heater is None or type( degrees ) is not int or not 10 <= degrees <= 30:
            return "There is no such heater, or it cannot do that." + self._advance_if_done()
        heater[ "level" ] = degrees
        return f"The heater in the {room} is at {degrees}." + self._advance_if_done()

    def tool_decline_request( self, reason ):
        if self._current_msg != 2 or not str( reason ).strip():
            return "This can be done, so do it." + self._advance_if_done()
        self._state[ "declined" ] = str( reason )[ : 200 ]
        return "The resident knows." + self._advance_if_done()


    def _check_answer( self, answer ):
        return str( answer ).strip().lower() == "done" and self._current_msg >= len( self._message_criteria )


    def solution( self ):
        calls = [
            ( "set_lamp", { "room" : self.dim, "level" : 0 } ),
            ( "set_heater", { "room" : self.warm, "degrees" : self.degrees } ),
            ( "decline_request", { "reason" : "No tool orders furniture." } ),
        ]
        lines = [ "<tool_call>" + json.dumps( { "name" : n, "arguments" : a } ) + "</tool_call>" for n, a in calls ]
        return "\n".join( lines + [ "<answer>done</answer>" ] )
